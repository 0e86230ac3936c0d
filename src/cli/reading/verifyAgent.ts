import type { AgentInspector, ListedAgent, Problem } from "../../inspect.ts";
import { addNeededBlobs } from "../../checkpoint/pruning/addNeededBlobs.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { forEachAtOnce } from "../../internal/forEachAtOnce.ts";
import { blobsAtOnce } from "../../storage/BlobStore.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { type KnownHead, missingHead } from "./KnownHead.ts";

export interface VerifiedAgent {
  readonly agentId: string;
  /**
   * The kind of the log. For logs that do not belong to agents, appends and large values are read without validating
   * records.
   */
  readonly shape: string;
  /** Empty if all data is readable. */
  readonly damage: readonly Problem[];
  /** The number of large values that were read. */
  readonly blobs: number;
}

/**
 * Reads the log of an agent and every large value that it references.
 *
 * @param agent the listed agent. An unreadable agent may be listed under the name of its directory.
 * @param head a checkpoint that the log must contain
 */
export async function verifyAgent(
  log: RecordLog,
  view: AgentInspector,
  { agentId, problem }: Pick<ListedAgent, "agentId" | "problem">,
  head?: KnownHead,
): Promise<VerifiedAgent> {
  const damage = new Map<string, Problem>();
  const add = ({ code, message }: Problem): unknown => damage.set(`${code} ${message}`, { code, message });
  if (problem) add(problem);
  let shape = "agent";
  await orDamage(add, async () => {
    const found = await view.agent(agentId);
    found?.damage.forEach(add);
    shape = found?.shape ?? shape;
  });
  const blobs = new Map<string, number>();
  await orDamage(add, async () => {
    for await (const { records } of log.read(agentId)) for (const record of records) addNeededBlobs(record, blobs);
  });
  await forEachAtOnce([...blobs.keys()], blobsAtOnce, (reference) =>
    orDamage(add, async () => {
      if ((await log.blobs.get(agentId, reference)) === undefined)
        add({ code: "unreadable_value", message: `the value ${reference} is missing` });
    }),
  );
  if (head)
    await orDamage(add, async () => {
      const missing = await missingHead(view, head);
      if (missing) add(missing);
    });
  return { agentId, shape, damage: [...damage.values()], blobs: blobs.size };
}

async function orDamage(add: (problem: Problem) => unknown, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    if (!AgentPersistenceError.isInstance(error)) throw error;
    add(error);
  }
}
