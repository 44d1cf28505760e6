// What Apache Kafka's own serializers, deserializers and partitioners make of given values, for comparison with ours.
//
//   java -cp 'libs/*' ClientBytes.java < cases > answers
//
// A case is a line of words; the answer to it one word, hex or a number:
//
//   write KIND ENCODING VALUE       bytes of a value; a number is given in decimal, a float by its bits, text as UTF-16
//   read KIND ENCODING BYTES        the value of bytes, in the same form, or "error"
//   keyed KEY COUNT                 the partition of a key among COUNT
//   turn TOPIC COUNT MISSING        the next partition of TOPIC by the round-robin partitioner; those in the list
//                                   MISSING (numbers with commas, or -) have no leader

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.clients.producer.RoundRobinPartitioner;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.serialization.*;

public class ClientBytes {
    private static final HexFormat HEX = HexFormat.of();
    private static final RoundRobinPartitioner TURNS = new RoundRobinPartitioner();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = in.readLine(); line != null; line = in.readLine())
            out.println("=" + answer(line.split(" ", -1)));
        out.flush();
    }

    private static String answer(String[] words) {
        switch (words[0]) {
            case "write": return HEX.formatHex(write(words[1], words[2], words[3]));
            case "read": return read(words[1], words[2], HEX.parseHex(words[3]));
            case "keyed": return "" + BuiltInPartitioner.partitionForKey(HEX.parseHex(words[1]), Integer.parseInt(words[2]));
            default: return "" + TURNS.partition(words[1], null, null, null, null, cluster(words[1], words[2], words[3]));
        }
    }

    private static byte[] write(String kind, String encoding, String value) {
        switch (kind) {
            case "bytes": return new ByteArraySerializer().serialize("t", HEX.parseHex(value));
            case "short": return new ShortSerializer().serialize("t", Short.valueOf(value));
            case "int": return new IntegerSerializer().serialize("t", Integer.valueOf(value));
            case "long": return new LongSerializer().serialize("t", Long.valueOf(value));
            case "float": return new FloatSerializer().serialize("t", Float.intBitsToFloat(Integer.parseInt(value)));
            case "double": return new DoubleSerializer().serialize("t", Double.longBitsToDouble(Long.parseLong(value)));
            case "bool": return new BooleanSerializer().serialize("t", Boolean.valueOf(value));
            case "uuid": return configured(new UUIDSerializer(), "serializer", encoding).serialize("t", UUID.fromString(value));
            default: return configured(new StringSerializer(), "serializer", encoding).serialize("t", text(value));
        }
    }

    private static String read(String kind, String encoding, byte[] bytes) {
        try {
            switch (kind) {
                case "bytes": return HEX.formatHex(new ByteArrayDeserializer().deserialize("t", bytes));
                case "short": return "" + new ShortDeserializer().deserialize("t", bytes);
                case "int": return "" + new IntegerDeserializer().deserialize("t", bytes);
                case "long": return "" + new LongDeserializer().deserialize("t", bytes);
                case "float": return "" + Float.floatToRawIntBits(new FloatDeserializer().deserialize("t", bytes));
                case "double": return "" + Double.doubleToRawLongBits(new DoubleDeserializer().deserialize("t", bytes));
                case "bool": return "" + new BooleanDeserializer().deserialize("t", bytes);
                case "uuid": return "" + read(configured(new UUIDDeserializer(), encoding), bytes);
                default: return HEX.formatHex(read(configured(new StringDeserializer(), encoding), bytes)
                    .getBytes(StandardCharsets.UTF_16BE));
            }
        } catch (Exception error) {
            return "error";
        }
    }

    private static <T> T read(Deserializer<T> deserializer, byte[] bytes) {
        return deserializer.deserialize("t", bytes);
    }

    private static <T> Serializer<T> configured(Serializer<T> serializer, String kind, String encoding) {
        serializer.configure(Map.of(kind + ".encoding", encoding), false);
        return serializer;
    }

    private static <T> Deserializer<T> configured(Deserializer<T> deserializer, String encoding) {
        deserializer.configure(Map.of("deserializer.encoding", encoding), false);
        return deserializer;
    }

    private static String text(String value) {
        return new String(HEX.parseHex(value), StandardCharsets.UTF_16BE);
    }

    private static Cluster cluster(String topic, String count, String missing) {
        List<String> leaderless = List.of(missing.split(","));
        Node node = new Node(1, "h", 1);
        List<PartitionInfo> partitions = new ArrayList<>();
        for (int number = 0; number < Integer.parseInt(count); number++)
            partitions.add(new PartitionInfo(topic, number, leaderless.contains("" + number) ? null : node, null, null));
        return new Cluster("c", List.of(node), partitions, Collections.emptySet(), Collections.emptySet());
    }
}
