import type { AgentInspector, ListedAgent, Problem } from "../../inspect.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { isRestating } from "../../checkpoint/format/ShapeRecord.ts";
import { addAllBlobs, blobCellsOf } from "../../checkpoint/records/blobReferences.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { forEachAtOnce } from "../../internal/forEachAtOnce.ts";
import { blobsAtOnce } from "../../storage/BlobStore.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";

/** What was found of one agent. */
export interface VerifiedAgent {
  readonly agentId: string;
  /** What the log is of: of what is no agent, the appends and the large values are read, and no record is judged. */
  readonly shape: string;
  /** Empty: all of it can be read. */
  readonly damage: readonly Problem[];
  /** How many large values were read. */
  readonly blobs: number;
}

/**
 * Reads the log of an agent, and every large value that it refers to.
 *
 * @param agent as it was listed: one that cannot be read may be listed under the name of its folder.
 */
export async function verifyAgent(
  log: RecordLog,
  view: AgentInspector,
  { agentId, problem }: Pick<ListedAgent, "agentId" | "problem">,
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
  await orDamage(add, () => (shape === "agent" ? addNeeded : addNeededByItems)(log, agentId, blobs));
  await forEachAtOnce([...blobs.keys()], blobsAtOnce, (reference) =>
    orDamage(add, async () => {
      if ((await log.blobs.get(agentId, reference)) === undefined)
        add({ code: "unreadable_value", message: `the value ${reference} is missing` });
    }),
  );
  return { agentId, shape, damage: [...damage.values()], blobs: blobs.size };
}

/** What is before a pruning counts only as the pruning restates it. */
async function addNeeded(log: RecordLog, agentId: string, blobs: Map<string, number>): Promise<void> {
  for await (const { records } of log.read(agentId)) {
    for (const record of records as readonly AgentRecord[]) {
      if (record.kind === "pruned") blobs.clear();
      for (const each of restatedBy(record)) addAllBlobs(each, blobs);
    }
  }
}

/** Threads and sessions keep their values in lists of items, threads also in calls of tools. What is before a restatement does not count. */
async function addNeededByItems(log: RecordLog, id: string, blobs: Map<string, number>): Promise<void> {
  for await (const { records } of log.read(id)) {
    for (const record of records) {
      if (isRestating(record)) blobs.clear();
      for (const [reference, bytes] of valuesIn(record).flatMap(blobCellsOf)) blobs.set(reference, bytes);
    }
  }
}

function valuesIn(record: LogRecord): readonly StoredValue[] {
  const { items = [], input, end } = record as ValuesOfShapes;
  return [...items, input, end?.output, end?.command].filter((value) => value !== undefined);
}

/** Where records of threads and sessions have values. */
interface ValuesOfShapes {
  readonly items?: readonly StoredValue[];
  readonly input?: StoredValue;
  readonly end?: { readonly output?: StoredValue; readonly command?: StoredValue };
}

/** The records that a pruning writes anew; of any other record itself. */
function restatedBy(record: AgentRecord): readonly AgentRecord[] {
  return record.kind === "pruned" ? record.restated.flatMap(({ records }) => records) : [record];
}

async function orDamage(add: (problem: Problem) => unknown, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    if (!AgentPersistenceError.isInstance(error)) throw error;
    add(error);
  }
}
