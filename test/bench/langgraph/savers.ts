import { MemorySaver, type BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { join } from "node:path";

export type SaverKind = "memory" | "sqlite";

export interface OpenSaver {
  readonly saver: BaseCheckpointSaver;
  readonly close: () => void;
}

/** A saver as LangGraph makes it, its own settings untouched: its SQLite is in WAL mode and does not sync each commit. */
export function openSaver(kind: SaverKind, directory: string): OpenSaver {
  if (kind === "memory") return { saver: new MemorySaver(), close: () => {} };
  const saver = SqliteSaver.fromConnString(join(directory, "langgraph.sqlite"));
  return { saver, close: () => saver.db.close() };
}
