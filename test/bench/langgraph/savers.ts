import { MemorySaver, type BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { PersistenceSaver } from "agent-persistence/langgraph";
import { join } from "node:path";
import type { SaverKind } from "../contestants.ts";

export interface OpenSaver {
  readonly saver: BaseCheckpointSaver;
  readonly close: () => void | Promise<void>;
}

/** A saver as it is made without options. LangGraph's SQLite is in WAL mode and does not sync each commit. */
export function openSaver(kind: SaverKind, directory: string): OpenSaver {
  if (kind === "memory") return { saver: new MemorySaver(), close: () => {} };
  if (kind === "ours-memory")
    return opened(new PersistenceSaver({ storage: new InMemoryPersistenceStorageProvider() }));
  if (kind === "ours-files") {
    const storage = new FilePersistenceStorageProvider({ directory });
    return opened(new PersistenceSaver({ storage }), () => storage.log.close());
  }
  const saver = SqliteSaver.fromConnString(join(directory, "langgraph.sqlite"));
  return { saver, close: () => void saver.db.close() };
}

function opened(saver: PersistenceSaver, close?: () => Promise<void>): OpenSaver {
  return {
    saver,
    close: async () => {
      await saver[Symbol.asyncDispose]();
      await close?.();
    },
  };
}
