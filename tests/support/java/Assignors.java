// Runs Apache Kafka's own partition assignors, for comparison with ours.
//
//   java -cp 'libs/*' Assignors.java < cases > answers
//
// A case is a line of JSON: assignor (its simple class name), topics (name -> per partition the racks of its replicas),
// members (id, topics, instance, rack, owned [[topic, partition]], generation, user_data in hex or null). An answer is a line of
// JSON: member id -> [[topic, partition]], or {"error": text}.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

public class Assignors {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = in.readLine(); line != null; line = in.readLine())
            out.println("=" + JSON.writeValueAsString(answer(JSON.readTree(line))));
        out.flush();
    }

    private static ObjectNode answer(JsonNode given) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            String name = "org.apache.kafka.clients.consumer." + given.get("assignor").asText();
            ConsumerPartitionAssignor assignor = (ConsumerPartitionAssignor) Class.forName(name).getConstructor().newInstance();
            Map<String, Subscription> members = new HashMap<>();
            for (JsonNode member : given.get("members"))
                members.put(member.get("id").asText(), subscription(member));
            Map<String, Assignment> parts = assignor.assign(cluster(given.get("topics")), new GroupSubscription(members)).groupAssignment();
            parts.forEach((member, part) -> {
                ArrayNode list = answer.putArray(member);
                for (TopicPartition tp : part.partitions())
                    list.addArray().add(tp.topic()).add(tp.partition());
            });
        } catch (Exception error) {
            answer.removeAll();
            answer.put("error", error.toString());
        }
        return answer;
    }

    private static Subscription subscription(JsonNode member) {
        List<String> topics = new ArrayList<>();
        member.get("topics").forEach(topic -> topics.add(topic.asText()));
        List<TopicPartition> owned = new ArrayList<>();
        member.get("owned").forEach(tp -> owned.add(new TopicPartition(tp.get(0).asText(), tp.get(1).asInt())));
        JsonNode data = member.get("user_data");
        ByteBuffer bytes = data.isNull() ? null : ByteBuffer.wrap(HexFormat.of().parseHex(data.asText()));
        Optional<String> rack = member.get("rack").isNull() ? Optional.empty() : Optional.of(member.get("rack").asText());
        Subscription subscription = new Subscription(topics, bytes, owned, member.get("generation").asInt(), rack);
        if (!member.get("instance").isNull())
            subscription.setGroupInstanceId(Optional.of(member.get("instance").asText()));
        return subscription;
    }

    private static Cluster cluster(JsonNode topics) {
        List<PartitionInfo> partitions = new ArrayList<>();
        Map<String, Node> nodes = new HashMap<>();
        Node plain = new Node(0, "h", 1);
        nodes.put("", plain);
        for (Iterator<String> names = topics.fieldNames(); names.hasNext();) {
            String topic = names.next();
            int index = 0;
            for (JsonNode racks : topics.get(topic)) {
                List<Node> replicas = new ArrayList<>();
                racks.forEach(rack -> replicas.add(nodes.computeIfAbsent(rack.asText(), r -> new Node(nodes.size() + 1, "h", 1, r))));
                Node[] all = replicas.isEmpty() ? new Node[] {plain} : replicas.toArray(new Node[0]);
                partitions.add(new PartitionInfo(topic, index++, all[0], all, all));
            }
        }
        return new Cluster("c", nodes.values(), partitions, Collections.emptySet(), Collections.emptySet());
    }
}
