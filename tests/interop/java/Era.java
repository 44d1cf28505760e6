import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.kafka.clients.producer.*;

/** A produce-and-read-back check that compiles against every kafka-clients since 0.8.2.
 *  usage: Era produce HOST:PORT TOPIC COUNT CODEC ACKS | consume HOST:PORT TOPIC COUNT
 *  The consumer is reached by reflection, because poll(long) became poll(Duration). */
public class Era {
    public static void main(String[] args) throws Exception {
        if (args[0].equals("produce")) produce(args[1], args[2], Integer.parseInt(args[3]), args[4], args[5]);
        else consume(args[1], args[2], Integer.parseInt(args[3]));
    }

    static void produce(String address, String topic, int count, String codec, String acks) throws Exception {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", address);
        config.put("acks", acks);
        config.put("compression.type", codec);
        config.put("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        config.put("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        List<java.util.concurrent.Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config)) {
            for (int n = 0; n < count; n++)
                sent.add(producer.send(new ProducerRecord<>(topic, 0, ("k" + n).getBytes(), ("value " + n).getBytes())));
            for (int n = 0; n < count; n++) {
                long offset = sent.get(n).get().offset();
                if (!acks.equals("0") && offset != n) throw new IllegalStateException("record " + n + " got offset " + offset);
            }
        }
        System.out.println("PRODUCED " + count);
    }

    static void consume(String address, String topic, int count) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", address);
        config.put("group.id", "era");
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "earliest");
        config.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        config.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        Class<?> type = Class.forName("org.apache.kafka.clients.consumer.KafkaConsumer");
        Object consumer = type.getConstructor(Properties.class).newInstance(config);
        Class<?> address2 = Class.forName("org.apache.kafka.common.TopicPartition");
        Object partition = address2.getConstructor(String.class, int.class).newInstance(topic, 0);
        List<Object> partitions = Collections.singletonList(partition);
        call(type, consumer, "assign", partitions);
        int seen = 0;
        long deadline = System.currentTimeMillis() + 120000;
        while (seen < count && System.currentTimeMillis() < deadline) {
            for (Object record : (Iterable<?>) poll(type, consumer)) {
                byte[] value = (byte[]) record.getClass().getMethod("value").invoke(record);
                long offset = (Long) record.getClass().getMethod("offset").invoke(record);
                String text = new String(value, StandardCharsets.UTF_8);
                if (!text.equals("value " + seen) || offset != seen)
                    throw new IllegalStateException("expected record " + seen + ", got " + text + " at " + offset);
                seen++;
            }
        }
        type.getMethod("close").invoke(consumer);
        if (seen != count) throw new IllegalStateException("read " + seen + " of " + count);
        System.out.println("CONSUMED " + count);
    }

    static Object poll(Class<?> type, Object consumer) throws Exception {
        try {
            Class<?> duration = Class.forName("java.time.Duration");
            return type.getMethod("poll", duration).invoke(consumer, java.time.Duration.ofMillis(500));
        } catch (NoSuchMethodException old) {
            return type.getMethod("poll", long.class).invoke(consumer, 500L);
        }
    }

    /** Call by name: the parameter was a List in 0.9 and a Collection later. */
    static void call(Class<?> type, Object target, String name, Object argument) throws Exception {
        for (Method method : type.getMethods())
            if (method.getName().equals(name) && method.getParameterCount() == 1 && method.getParameterTypes()[0].isInstance(argument)) {
                method.invoke(target, argument);
                return;
            }
        throw new NoSuchMethodException(name);
    }
}
