import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;

/** Prints every key of Kafka's own clients: kind, name, type and default, separated by tabs. */
public class ClientDefaults {
    public static void main(String[] arguments) {
        print("producer", ProducerConfig.configDef());
        print("consumer", ConsumerConfig.configDef());
        print("admin", AdminClientConfig.configDef());
    }

    private static void print(String kind, ConfigDef definition) {
        for (Map.Entry<String, ConfigDef.ConfigKey> entry : new TreeMap<>(definition.configKeys()).entrySet()) {
            ConfigDef.ConfigKey key = entry.getValue();
            String value = key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : "REQUIRED";
            System.out.println(kind + "\t" + key.name + "\t" + key.type + "\t" + value);
        }
    }
}
