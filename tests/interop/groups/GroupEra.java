import java.lang.reflect.Method;
import java.util.*;

/** A member of a group that reads COUNT records, commits and leaves; for every kafka-clients since 0.9.
 *  usage: GroupEra HOST:PORT TOPIC GROUP COUNT [name=value]... */
public class GroupEra {
    public static void main(String[] args) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("group.id", args[2]);
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "earliest");
        config.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        config.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        for (int n = 4; n < args.length; n++) config.put(args[n].split("=", 2)[0], args[n].split("=", 2)[1]);
        int count = Integer.parseInt(args[3]);
        Class<?> type = Class.forName("org.apache.kafka.clients.consumer.KafkaConsumer");
        Object consumer = type.getConstructor(Properties.class).newInstance(config);
        call(type, consumer, "subscribe", Collections.singletonList(args[1]));
        int seen = 0;
        long deadline = System.currentTimeMillis() + 120000;
        while (seen < count && System.currentTimeMillis() < deadline)
            for (Object record : (Iterable<?>) poll(type, consumer)) seen++;
        if (seen < count) throw new IllegalStateException("read " + seen + " of " + count);
        type.getMethod("commitSync").invoke(consumer);
        type.getMethod("close").invoke(consumer);
        System.out.println("CONSUMED " + seen);
    }

    static Object poll(Class<?> type, Object consumer) throws Exception {
        try {
            Class<?> duration = Class.forName("java.time.Duration");
            return type.getMethod("poll", duration).invoke(consumer, java.time.Duration.ofMillis(200));
        } catch (NoSuchMethodException old) {
            return type.getMethod("poll", long.class).invoke(consumer, 200L);
        }
    }

    static void call(Class<?> type, Object target, String name, Object argument) throws Exception {
        for (Method method : type.getMethods())
            if (method.getName().equals(name) && method.getParameterCount() == 1 && method.getParameterTypes()[0].isInstance(argument)) {
                method.invoke(target, argument);
                return;
            }
        throw new NoSuchMethodException(name);
    }
}
