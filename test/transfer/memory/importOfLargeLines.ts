import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { importAgent } from "agent-persistence/transfer";
import { longArchive } from "../longArchive.ts";
import { inPieces } from "../movedAgents.ts";

/** Imports 64 MB of values that no snapshot contains, and tells its parent. */
const value = (line: number) => String.fromCodePoint(97 + line).repeat(4_000_000);
const archive = await longArchive(
  16,
  (line) => ({ kind: "storage", lane: 1, key: `key-${line}`, value: value(line) }) as never,
);
const { agentId } = await importAgent(new InMemoryPersistenceStorageProvider(), inPieces(archive, 65_536));
process.send?.(agentId, () => process.disconnect());
