import type { AIAgent } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { renamedNode } from "../../persistence/versions/support/changes.ts";
import { base, places, type Stop } from "../../persistence/versions/support/Spec.ts";

const storageIn = (directory: string) => new FilePersistenceStorageProvider({ directory });
const place = places[1];
if (place?.name !== "a branch") throw new Error("The lines of a branch are to migrate.");

/** Runs agent "a" with old code, until it stops inside a branch. */
export async function stoppedAgent(directory: string): Promise<void> {
  const stop: Stop = { at: "two" };
  const error: unknown = await place
    ?.agent(base, stop, storageIn(directory))
    .run("in")
    .catch((reason: unknown) => reason);
  if (!(error instanceof Error) || error.message !== "stopped")
    throw new Error("The agent has not stopped.", { cause: error });
}

/** The agent with new code, to which migrations lead. */
export function migratingAgent(directory: string): AIAgent {
  const migrations = [{ from: 0, to: 1, nodes: { "work/two": "work/second" } }];
  const spec = { ...renamedNode("two", "second"), version: 1 };
  if (!place) throw new Error();
  return place.agent(spec, { at: undefined }, storageIn(directory), { migrations });
}

/** The nodes of the checkpoints that migrations made, by append. The checkpoint of a finished branch stores no node. */
export async function migrationsIn(directory: string): Promise<readonly (readonly string[])[]> {
  const found: (readonly string[])[] = [];
  for await (const { records } of storageIn(directory).log.read("a")) {
    const made = records as readonly { readonly move?: string; readonly node?: string }[];
    const nodes = made.flatMap(({ move, node = "finish" }) => (move === "migration" ? [node] : []));
    if (nodes.length > 0) found.push(nodes);
  }
  return found;
}
