import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  JsonPlusSerializer,
  MemorySaver as LangGraphSaver,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { PersistenceSaver, type PersistenceSaverOptions } from "agent-persistence/langgraph";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import { libsql } from "../../storage/sqlite/libsql.ts";

export * from "@langchain/langgraph-checkpoint";

const { UPSTREAM_STORAGE: name = "memory" } = process.env;
const newFolder = (): string => mkdtempSync(join(tmpdir(), "saver-"));

const storages: Readonly<Record<string, () => PersistenceSaverOptions["storage"]>> = {
  memory: () => new InMemoryPersistenceStorageProvider(),
  file: () => new FilePersistenceStorageProvider({ directory: newFolder() }),
  sqlite: () => new SqlitePersistenceStorageProvider({ database: libsql(join(newFolder(), "threads.db")) }),
};

class Saver extends PersistenceSaver {
  constructor(serde?: SerializerProtocol) {
    const open = storages[name];
    if (!open) throw new RangeError(`expected one of ${Object.keys(storages).join()}, got ${name}`);
    super({ storage: open(), serde });
    // Some tests keep copies of checkpoints. They expect this serializer here.
    this.serde = serde ?? new JsonPlusSerializer();
  }
}

/** The checkpointer that LangGraph's tests get. `UPSTREAM_STORAGE` names its storage, or `MemorySaver`. */
export const MemorySaver = name === "MemorySaver" ? LangGraphSaver : Saver;

/** Replaces the checkpointer of a package that has to be compiled. */
export const SqliteSaver = { fromConnString: () => new MemorySaver() };
