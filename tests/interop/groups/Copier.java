import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;

/** Exactly-once copy: consume, transform, produce and commit the offsets in one transaction.
 *  usage: Copier HOST:PORT IN OUT GROUP TRANSACTIONAL_ID COUNT [consumer.name=value]... */
public class Copier {
    public static void main(String[] args) throws Exception {
        Properties in = new Properties();
        in.put("bootstrap.servers", args[0]);
        in.put("group.id", args[3]);
        in.put("enable.auto.commit", "false");
        in.put("auto.offset.reset", "earliest");
        in.put("isolation.level", "read_committed");
        in.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        in.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        for (int n = 6; n < args.length; n++) in.put(args[n].split("=", 2)[0], args[n].split("=", 2)[1]);
        Properties out = new Properties();
        out.put("bootstrap.servers", args[0]);
        out.put("transactional.id", args[4]);
        out.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        out.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        int count = Integer.parseInt(args[5]), seen = 0, transactions = 0;
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(in);
             KafkaProducer<String, String> producer = new KafkaProducer<>(out)) {
            producer.initTransactions();
            consumer.subscribe(Collections.singletonList(args[1]));
            long deadline = System.currentTimeMillis() + 120000;
            while (seen < count && System.currentTimeMillis() < deadline) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
                if (records.isEmpty()) continue;
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (ConsumerRecord<String, String> record : records) {
                    producer.send(new ProducerRecord<>(args[2], record.key(), record.value().toUpperCase()));
                    offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
                    seen++;
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                // Every third transaction is aborted first, and its records are read again.
                if (++transactions % 3 == 1) {
                    producer.abortTransaction();
                    for (TopicPartition partition : offsets.keySet()) {
                        OffsetAndMetadata committed = consumer.committed(Collections.singleton(partition)).get(partition);
                        if (committed == null) consumer.seekToBeginning(Collections.singletonList(partition));
                        else consumer.seek(partition, committed.offset());
                    }
                    seen -= records.count();
                } else producer.commitTransaction();
            }
        }
        System.out.println("COPIED " + seen + " IN " + transactions);
    }
}
