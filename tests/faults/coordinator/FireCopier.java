import java.io.FileWriter;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;

/** What copier.py does, by Kafka's own client.
 *  usage: FireCopier HOST:PORT IN OUT GROUP TRANSACTIONAL_ID PROTOCOL HISTORY */
public class FireCopier {
    public static void main(String[] args) throws Exception {
        Properties in = new Properties();
        in.put("bootstrap.servers", args[0]);
        in.put("group.id", args[3]);
        in.put("enable.auto.commit", "false");
        in.put("auto.offset.reset", "earliest");
        in.put("isolation.level", "read_committed");
        in.put("max.poll.records", "100");
        in.put("default.api.timeout.ms", "15000");
        in.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        in.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        if (args[5].equals("consumer")) in.put("group.protocol", "consumer");
        else {
            in.put("session.timeout.ms", "2000");
            in.put("heartbeat.interval.ms", "300");
        }
        Properties out = new Properties();
        out.put("bootstrap.servers", args[0]);
        out.put("transactional.id", args[4]);
        out.put("transaction.timeout.ms", "10000");
        out.put("max.block.ms", "15000");
        out.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        out.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        PrintWriter history = new PrintWriter(new FileWriter(args[6], true), true);
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(in);
        KafkaProducer<String, String> producer = new KafkaProducer<>(out);
        try {
            producer.initTransactions();
            consumer.subscribe(Collections.singletonList(args[1]));
            for (int number = 0; ; number++)
                copy(consumer, producer, args[2], args[4] + "/" + ProcessHandle.current().pid() + "/" + number, history);
        } catch (Throwable error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    static void copy(KafkaConsumer<String, String> consumer, KafkaProducer<String, String> producer, String target,
                     String name, PrintWriter history) {
        ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(500));
        if (records.isEmpty()) return;
        StringJoiner numbers = new StringJoiner(",");
        for (ConsumerRecord<String, String> record : records) numbers.add(record.value());
        history.println("copy " + name + " " + numbers);
        producer.beginTransaction();
        try {
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (ConsumerRecord<String, String> record : records) {
                producer.send(new ProducerRecord<>(target, record.partition(), record.key(), record.value() + " " + name));
                offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            commit(producer);
        } catch (KafkaException error) {
            producer.abortTransaction();  // fatal errors throw again, and end the process
            history.println("aborted " + name);
            Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
            for (TopicPartition partition : consumer.assignment()) {
                OffsetAndMetadata offset = committed.get(partition);
                consumer.seek(partition, offset == null ? 0 : offset.offset());
            }
            return;
        }
        history.println("committed " + name);
    }

    static void commit(KafkaProducer<String, String> producer) {
        while (true) {
            try {
                producer.commitTransaction();
                return;
            } catch (TimeoutException late) {
                continue;  // nobody knows how it ended: ask again
            }
        }
    }
}
