import { type AgentsFilter, inspect, type ListedAgent } from "../../inspect.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import { type Part, painted } from "../terminal/painted.ts";
import { shortValue } from "../terminal/shortTexts.ts";
import { orderBehindAgents } from "../../storage/summaries.ts";
import { isSummaryOrder } from "../../journal/agentSummary.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import type { Output } from "../terminal/Output.ts";
import { awayText, statusOf, dueText } from "./shown.ts";

export interface ListCommandOptions extends CommonOptions {
  readonly status?: AgentsFilter["status"];
  readonly limit: number;
  readonly after?: string | undefined;
}

/** The maximum number of characters of a reason. The command `show` prints the whole reason. */
const mostWhy = 120;
const head = ["AGENT", "STATUS", "UPDATED", "CHECKPOINTS", "TASK", "WHY"];

export async function list(session: Session, options: ListCommandOptions): Promise<void> {
  const { output } = session;
  const { limit } = options;
  assertCursor(options.after);
  const rows: (readonly Part[])[] = [];
  let found = 0;
  for await (const agent of inspect(await session.storage()).agents(filterOf(options))) {
    if (++found > limit && limit > 0) break;
    if (output.json) await output.item(agent);
    else rows.push(rowOf(session, agent));
  }
  if (rows.length > 0) await output.table(head, rows);
  if (found === 0) await output.note("There are no such agents.");
  if (options.status?.includes("unreadable"))
    await output.note("list does not read whole logs. To find all damage, use verify.");
  if (found > limit && limit > 0) await output.note(`There are more than ${limit}. To see more, raise --limit.`);
}

/** Requests one agent more than are shown, to detect whether there are more. */
function filterOf({ status, limit, after }: ListCommandOptions): AgentsFilter {
  return {
    explain: true,
    ...(status && { status }),
    ...(after !== undefined && { after }),
    ...(limit > 0 && { limit: limit + 1 }),
  };
}

function rowOf({ output }: Session, agent: ListedAgent): readonly Part[] {
  const { agentId, shape, updatedAt, checkpoints = "–", taskName = "" } = agent;
  const status = shape === "agent" ? statusOf(agent.status) : painted("dim", shape);
  const why = shortValue(
    whyOf(output, agent).replace(/(?<=[.?!]) [^]*/, (rest) => (rest.length > mostWhy ? " …" : rest)),
    mostWhy,
  );
  return [painted("bold", agentId), status, output.ago(updatedAt), String(checkpoints), taskName, why];
}

/** Names the command that continues an agent, unless something else must be done first. */
function whyOf(output: Output, { status, dueAt, stuck, reason, problem }: ListedAgent): string {
  const due = status === "waiting" ? dueText(output, dueAt) : undefined;
  const text = due ?? awayText(status) ?? reason ?? problem?.message ?? "";
  const isFree = stuck && stuck.owner !== "silent" && stuck.inDoubt === 0 && !stuck.openRollback;
  return isFree ? `${text}: resume it` : text;
}

/** @throws CommandFailure if the text is not a cursor of a list */
export function assertCursor(text: string | undefined): void {
  if (text === undefined || isSummaryOrder(text) || text.startsWith(orderBehindAgents)) return;
  throw new CommandFailure(
    "usage",
    `${JSON.stringify(text)} is no cursor. Pass the "cursor" of an agent in an earlier list, which list --json shows.`,
  );
}
