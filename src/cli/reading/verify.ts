import { inspect, type ListedAgent, type AgentInspector, type Problem } from "../../inspect.ts";
import { findLog } from "../ids/findLog.ts";
import type { ExitReason } from "../terminal/CommandFailure.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import { counted } from "../terminal/shortTexts.ts";
import { painted } from "../terminal/painted.ts";
import { withProgress } from "../terminal/Output.ts";
import { sealsOf } from "../storage/sealsOf.ts";
import { type SeenCheckpoint, readSeenCheckpoints, missingCheckpoint } from "./SeenCheckpoint.ts";
import { addNeededBlobs } from "../../checkpoint/pruning/neededContents.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { forEachAtOnce } from "../../internal/together.ts";
import { blobsAtOnce } from "../../storage/BlobStore.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";

interface VerifyOptions extends CommonOptions {
  readonly since?: string;
  readonly key?: string;
}

/** `verify [agent...]`: reads all data and reports damage and logs that are older than known heads. */
export async function verify(
  session: Session,
  { since, key }: VerifyOptions,
  given: readonly string[],
): Promise<ExitReason | void> {
  const { output } = session;
  const opened = await session.open();
  const { storage } = opened;
  const view = inspect(storage);
  const seals = key === undefined ? undefined : await sealsOf(opened, key, session.io);
  const listed: Pick<ListedAgent, "agentId" | "problem">[] = [];
  for (const each of given) listed.push({ agentId: await findLog(storage, each) });
  const ids = listed.map(({ agentId }) => agentId);
  const heads = since === undefined ? new Map<string, SeenCheckpoint>() : await readSeenCheckpoints(since, ids);
  if (given.length === 0) {
    for await (const agent of view.agents()) listed.push(agent);
    const found = new Set(listed.map(({ agentId }) => agentId));
    // A restored storage may lack agents that were created after the backup.
    for (const agentId of heads.keys()) if (!found.has(agentId)) listed.push({ agentId });
  }
  let damaged = 0;
  let what = "agent";
  const found: VerifiedAgent[] = [];
  await withProgress(
    output,
    "Verifying",
    async (tell) => {
      for (const [at, agent] of listed.entries()) {
        tell(`${at + 1} of ${listed.length}`, at);
        const verified = await verifyAgent({ log: storage.log, view, seals }, agent, heads.get(agent.agentId));
        if (verified.damage.length > 0) damaged++;
        if (verified.shape !== "agent") what = "log";
        if (output.json) await output.item(verified);
        else if (verified.damage.length > 0) found.push(verified);
      }
    },
    listed.length,
  );
  for (const each of found) await show(session, each);
  if (!output.json)
    await output.line(
      damaged === 0
        ? painted("green", `${areCounted(listed.length, what)} intact.`)
        : painted("red", `${damaged} of ${areCounted(listed.length, what)} damaged.`),
    );
  return damaged > 0 ? "damaged" : undefined;
}

function areCounted(count: number, what: string): string {
  return `${counted(count, what)} ${count === 1 ? "is" : "are"}`;
}

async function show({ output }: Session, { agentId, damage }: VerifiedAgent): Promise<void> {
  await output.line(painted("bold", agentId));
  for (const { code, message } of damage) await output.line("  ", painted("red", code), ` ${message}`);
}

interface VerifiedAgent {
  readonly agentId: string;
  /** The kind of the log. Only records of agents are validated. */
  readonly shape: string;
  /** Empty if all data is readable. */
  readonly damage: readonly Problem[];
  /** The number of large values that were read. */
  readonly blobs: number;
}

interface Verified {
  readonly log: RecordLog;
  readonly view: AgentInspector;
  /** Compares a log with its seals. `undefined` without a key. */
  readonly seals: ((agentId: string) => Promise<readonly Problem[]>) | undefined;
}

/**
 * Reads the log of an agent and every large value that it references.
 *
 * @param agent the listed agent. An unreadable agent may be listed under the name of its directory.
 * @param head a checkpoint that the log must contain
 */
async function verifyAgent(
  { log, view, seals }: Verified,
  { agentId, problem }: Pick<ListedAgent, "agentId" | "problem">,
  head?: SeenCheckpoint,
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
  for (const change of (await seals?.(agentId)) ?? []) add(change);
  if (head)
    await orDamage(add, async () => {
      const missing = await missingCheckpoint(view, head);
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
