import { inspect, type ListedAgent } from "../../inspect.ts";
import { findLog } from "../ids/findLog.ts";
import type { ExitReason } from "../failure/CommandFailure.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import { counted } from "../terminal/counted.ts";
import { painted } from "../terminal/painted.ts";
import { withProgress } from "../terminal/withProgress.ts";
import { type KnownHead, readKnownHeads } from "./KnownHead.ts";
import { type VerifiedAgent, verifyAgent } from "./verifyAgent.ts";

interface VerifyOptions extends CommonOptions {
  readonly since?: string;
}

/** `verify [agent...]`: reads all data and reports damage and logs that are older than known heads. */
export async function verify(
  session: Session,
  { since }: VerifyOptions,
  given: readonly string[],
): Promise<ExitReason | void> {
  const { output } = session;
  const storage = await session.storage();
  const view = inspect(storage);
  const listed: Pick<ListedAgent, "agentId" | "problem">[] = [];
  for (const each of given) listed.push({ agentId: await findLog(storage, each) });
  const ids = listed.map(({ agentId }) => agentId);
  const heads = since === undefined ? new Map<string, KnownHead>() : await readKnownHeads(since, ids);
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
        const verified = await verifyAgent(storage.log, view, agent, heads.get(agent.agentId));
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
