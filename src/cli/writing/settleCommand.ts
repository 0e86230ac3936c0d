import type { ToolCallInDoubt, ToolCallSettlement } from "../../index.ts";
import { type AgentView, inspect, type RollbackView } from "../../inspect.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import { inverseIdOf } from "../../checkpoint/ids/toolCallId.ts";
import { type AgentOptions, storedAgents } from "../session/storedAgents.ts";
import { CommandFailure, onlyOf, jsonGiven } from "../terminal/CommandFailure.ts";
import { findAgent, shortened } from "../ids/findLog.ts";
import type { Session } from "../session/Session.ts";
import { type Part, painted } from "../terminal/painted.ts";
import { shortValue } from "../terminal/shortTexts.ts";

export interface SettleCommandOptions extends AgentOptions {
  readonly output?: string | undefined;
  readonly error?: string | undefined;
  readonly retry?: boolean | undefined;
  readonly unknown?: boolean | undefined;
}

/** An inverse of an open rollback that has not reverted its call. */
type OpenInverse = Pick<ToolCallInDoubt, "agentId" | "toolCallId" | "toolName"> &
  Pick<RollbackView["calls"][number], "state" | "error"> & { readonly input?: never; readonly reverts: string };

export async function settle(
  session: Session,
  options: SettleCommandOptions,
  given: string,
  call?: string,
): Promise<void> {
  const { output } = session;
  const feature = await storedAgents(session, options, call === undefined ? "read" : "write");
  const agentId = await findAgent(feature.storage, given);
  const durable = feature.agent(agentId);
  const inDoubt = await durable.getToolCallsInDoubt();
  const view = await inspect(feature.storage).agent(agentId);
  const inverses = await openInverses(agentId, view?.openRollback);
  if (call === undefined && settlementsIn(options).length === 0) return list(session, inDoubt, { view, inverses });
  const choices = "Pass the outcome of the call: --output <json>, --error <message>, --retry or --unknown.";
  const settlement = onlyOf(settlementsIn(options), choices);
  if (call === undefined)
    throw new CommandFailure("usage", "Name the call to settle. `settle <agent>` lists the calls in doubt.");
  const known = [...inDoubt, ...inverses];
  const toolCallId = await shortened(
    "call in doubt",
    call,
    known.map((each) => each.toolCallId),
  );
  const { toolName = "", input, reverts } = known.find((each) => each.toolCallId === toolCallId) ?? {};
  await session.confirm(
    ["The call ", painted("bold", toolName), ` ${reverts ?? shortValue(input, 300)} of `, painted("bold", agentId)],
    [`will be settled permanently: ${reverts === undefined ? meaning(settlement) : meaningOfInverse(settlement)}`],
  );
  await durable.settleToolCall(toolCallId, settlement);
  await output.result({ agentId, toolCallId, settlement }, "Settled ", painted("bold", toolCallId), ".");
}

function settlementsIn({ output, error, retry, unknown }: SettleCommandOptions): readonly ToolCallSettlement[] {
  return [
    ...(output === undefined ? [] : [{ output: jsonGiven(output, "The output") }]),
    ...(error === undefined ? [] : [{ error }]),
    ...(retry ? (["retry"] as const) : []),
    ...(unknown ? (["unknown"] as const) : []),
  ];
}

function meaning(settlement: ToolCallSettlement): string {
  if (settlement === "retry") return "the call is made again";
  if (settlement === "unknown") return "the run continues without knowing whether the call took effect";
  if ("error" in settlement) return `the call failed without effect: ${settlement.error}`;
  return `the call succeeded with ${shortValue(settlement.output, 300)}`;
}

function meaningOfInverse(settlement: ToolCallSettlement): string {
  if (settlement === "retry") return "the inverse runs again";
  return typeof settlement === "object" && "output" in settlement ? "its call is reverted" : "the effect stays";
}

/** Returns the inverses of an open rollback that are not in doubt and that `settleToolCall` accepts. */
async function openInverses(agentId: string, rollback: RollbackView | undefined): Promise<readonly OpenInverse[]> {
  const sha256 = await platformSha256();
  const open = rollback?.calls.filter(({ state }) => state !== "reverted" && state !== "in_doubt") ?? [];
  return open.map(({ toolCallId: reverts, tool, ...progress }) => {
    const toolCallId = inverseIdOf(reverts, { agentId, sha256 });
    return { agentId, toolCallId, toolName: `inverse of ${tool}`, reverts, ...progress };
  });
}

async function list(
  { output }: Session,
  inDoubt: readonly ToolCallInDoubt[],
  { view, inverses }: { readonly view: AgentView | undefined; readonly inverses: readonly OpenInverse[] },
): Promise<void> {
  if (output.json) return output.document([...inDoubt, ...inverses]);
  if (view?.owner?.state === "alive")
    await output.note(painted("yellow", "The agent is running, so a listed call may still end."));
  if (inDoubt.length === 0) await output.note("No call is in doubt.");
  else await output.table(["CALL", "TOOL", "NODE", "EFFECT", "SETTLED", "INPUT"], inDoubt.map(rowOf));
  if (inverses.length === 0) return;
  await output.line("Inverses of the open rollback, which can be settled:");
  const rows = inverses.map(({ toolCallId, toolName, reverts, state, error = "" }) => [
    toolCallId,
    toolName,
    reverts,
    state,
    shortValue(error, 300),
  ]);
  await output.table(["CALL", "TOOL", "REVERTS", "STATE", "ERROR"], rows);
}

function rowOf({ toolCallId, toolName, nodeId, effect, input, reverts, settled }: ToolCallInDoubt): readonly Part[] {
  const settlement = settled === undefined ? "" : painted("green", settled);
  const name = reverts === undefined || toolName.startsWith("inverse of ") ? toolName : `inverse ${toolName}`;
  return [toolCallId, name, nodeId, effect, settlement, shortValue(input, 300)];
}
