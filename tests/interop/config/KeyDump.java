import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;

/** Prints every broker (or topic) key of the Kafka on the class path: name, type, default, update mode. */
public class KeyDump {
    public static void main(String[] arguments) throws Exception {
        boolean broker = arguments[0].equals("broker");
        Class<?> owner = Class.forName(
            broker ? "kafka.server.KafkaConfig" : "org.apache.kafka.storage.internals.log.LogConfig");
        ConfigDef keys = (ConfigDef) owner.getMethod(broker ? "configDef" : "configDefCopy").invoke(null);
        Map<String, String> modes = broker ? updateModes() : new HashMap<>();
        for (ConfigDef.ConfigKey key : new TreeMap<>(keys.configKeys()).values()) {
            String value = key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null;
            System.out.println(String.join("\t",
                key.name, key.type.name(), value == null ? "<null>" : value, modes.getOrDefault(key.name, "read-only")));
        }
    }

    @SuppressWarnings("unchecked")
    private static Map<String, String> updateModes() throws Exception {
        for (String name : new String[] {"kafka.server.DynamicBrokerConfig", "org.apache.kafka.server.config.DynamicBrokerConfig"}) {
            try {
                return (Map<String, String>) Class.forName(name).getMethod("dynamicConfigUpdateModes").invoke(null);
            } catch (ReflectiveOperationException absent) {
                continue;
            }
        }
        return new HashMap<>(); // 3.9 keeps them private
    }
}
