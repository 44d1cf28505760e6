import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HexFormat;
import org.apache.kafka.common.utils.Utils;

/** Reads "hex-key partitions" lines; prints where the Java producer puts each key. */
public class Partitions {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ", -1);
            byte[] key = HexFormat.of().parseHex(words[0]);
            out.append(Utils.toPositive(Utils.murmur2(key)) % Integer.parseInt(words[1])).append('\n');
        }
        System.out.print(out);
    }
}
