import de.bwaldvogel.mongo.MongoCollection;
import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.CollectionOptions;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import de.bwaldvogel.mongo.backend.h2.H2Collection;
import de.bwaldvogel.mongo.backend.h2.H2Database;
import de.bwaldvogel.mongo.bson.Document;
import java.util.List;

/** Arguments: the port (0: any free one) and the file to keep everything in (none: memory). Ends with its standard input. */
class StandIn {
    public static void main(String[] arguments) throws Exception {
        var backend = new Backend(arguments.length > 1 ? arguments[1] : null);
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

    /** Its collections answer findAndModify with a copy. The library's answer is the record, which later writes change. */
    static class Backend extends H2Backend {
        Backend(String file) { super(file); }

        @Override protected MongoDatabase openOrCreateDatabase(String databaseName) {
            var store = getMvStore();
            return new H2Database(databaseName, store, getCursorRegistry()) {
                @Override protected MongoCollection<Object> openOrCreateCollection(String name, CollectionOptions options) {
                    var place = getFullCollectionNamespace(name);
                    return new H2Collection(
                        this, name, options, store.openMap("databases." + place), store.openMap("meta." + place), cursorRegistry
                    ) {
                        @Override public synchronized Document findAndModify(Document query) {
                            return super.findAndModify(query).cloneDeeply();
                        }
                    };
                }
            };
        }
    }
}
