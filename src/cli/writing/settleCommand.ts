import type { PersistenceStorageProvider, ToolCallInDoubt, ToolCallSettlement } from "../../index.ts";
import { inspect } from "../../inspect.ts";
import { type AgentOptions, storedAgents } from "../session/storedAgents.ts";
import { CommandFailure, onlyOf, jsonGiven } from "../terminal/CommandFailure.ts";
import { findAgent, shortened } from "../ids/findLog.ts";
import type { Session } from "../session/Session.ts";
import { painted } from "../terminal/painted.ts";
import { shortValue } from "../terminal/shortTexts.ts";

export interface SettleCommandOptions extends AgentOptions {
  readonly output?: string | undefined;
  readonly error?: string | undefined;
  readonly retry?: boolean | undefined;
  readonly unknown?: boolean | undefined;
}

export async function settle(
  session: Session,
  options: SettleCommandOptions,
  given: string,
  call?: string,
): Promise<void> {
  const { output } = session;
  const { feature, storage } = await storedAgents(session, options, call === undefined ? "read" : "write");
  const agentId = await findAgent(storage, given);
  const durable = feature.agent(agentId);
  const inDoubt = await durable.getToolCallsInDoubt();
  if (call === undefined && settlementsIn(options).length === 0)
    return list(session, inDoubt, await isRunning(storage, agentId));
  const choices = "Pass the outcome of the call: --output <json>, --error <message>, --retry or --unknown.";
  const settlement = onlyOf(settlementsIn(options), choices);
  if (call === undefined)
    throw new CommandFailure("usage", "Name the call to settle. `settle <agent>` lists the calls in doubt.");
  const toolCallId = await shortened(
    "call in doubt",
    call,
    inDoubt.map((each) => each.toolCallId),
  );
  const { toolName = "", input } = inDoubt.find((each) => each.toolCallId === toolCallId) ?? {};
  await session.confirm(
    ["The call ", painted("bold", toolName), ` ${shortValue(input, 300)} of `, painted("bold", agentId)],
    [`will be settled permanently: ${meaning(settlement)}`],
  );
  await durable.settleToolCall(toolCallId, settlement);
  if (output.json) await output.document({ agentId, toolCallId, settlement });
  else await output.line("Settled ", painted("bold", toolCallId), ".");
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

async function isRunning(storage: PersistenceStorageProvider, agentId: string): Promise<boolean> {
  return (await inspect(storage).agent(agentId))?.owner?.state === "alive";
}

async function list({ output }: Session, inDoubt: readonly ToolCallInDoubt[], runs: boolean): Promise<void> {
  if (output.json) return output.document(inDoubt);
  if (runs) await output.note(painted("yellow", "The agent is running, so a listed call may still end."));
  if (inDoubt.length === 0) return output.note("No call is in doubt.");
  const rows = inDoubt.map(({ toolCallId, toolName, nodeId, effect, input, reverts, settled }) => [
    toolCallId,
    reverts === undefined ? toolName : `inverse of ${toolName}`,
    nodeId,
    effect,
    settled === undefined ? "" : painted("green", settled),
    shortValue(input, 300),
  ]);
  await output.table(["CALL", "TOOL", "NODE", "EFFECT", "SETTLED", "INPUT"], rows);
}
