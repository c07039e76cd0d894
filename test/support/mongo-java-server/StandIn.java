import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import java.util.List;

/** Arguments: the port (0: any free one) and the file to keep everything in (none: memory). Ends with its standard input. */
class StandIn {
    public static void main(String[] arguments) throws Exception {
        var backend = arguments.length > 1 ? new H2Backend(arguments[1]) : H2Backend.inMemory();
        backend.version(new MongoVersion() { // by itself it claims to be too old for the driver
            @Override public List<Integer> getVersionArray() { return List.of(5, 0, 0); }
            @Override public int getWireVersion() { return 13; }
        });
        var server = new MongoServer(backend);
        server.bind("127.0.0.1", Integer.parseInt(arguments[0]));
        System.out.println("listening on " + server.getLocalAddress().getPort());
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdownNow));
        while (System.in.read() != -1) {}
        System.exit(0);
    }
}
