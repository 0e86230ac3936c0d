import { RunToolApprovalItem, RunContext, RunState } from "@openai/agents-core";
import { validateToolInvocationName } from "@openai/agents-core/utils/internal";
import type { PendingRequest } from "../../../agent/feature/RunResult.ts";
import { InvalidInputError } from "../../../errors/agentErrors.ts";
import { quoted } from "../../../errors/AgentPersistenceError.ts";
import { assertDecided, type RunRecords } from "../../hosted/RunRecords.ts";
import type { AnyState, AnySdkAgent, AnyResult, AnyStream } from "../wrapped/AnyAgent.ts";
import { runOfState, withOriginalAgents, noteRun } from "./withOriginalAgents.ts";
import type { DurableRun } from "../wrapped/DurableRun.ts";
import type { SdkOptions } from "./runLoop.ts";

type Answers = Readonly<Record<string, unknown>>;

interface Decision {
  readonly approved: boolean;
  readonly reason?: string;
}

/** Methods of the SDK's context that its types do not contain. */
interface Decisions {
  isToolApproved(call: { toolName: string; callId: string; agent: unknown }): boolean | undefined;
  getRejectionMessage(toolName: string, callId: string): string | undefined;
  _getHostedMcpApprovalStatus(item: RunToolApprovalItem): boolean | undefined;
  _getHostedMcpRejectionMessage(item: RunToolApprovalItem): string | undefined;
  _mergeApprovalState(source: unknown): void;
}

/**
 * Returns the decisions in a `RunState` as answers to open requests. Omits decisions that are already recorded.
 *
 * @throws InvalidInputError if the state belongs to another run or has staged input
 * @throws RequestNotOpenError if a decision differs from the recorded decision, or the request was dropped
 */
export function decisionsIn(state: AnyState, records: RunRecords, requests: readonly PendingRequest[]): Answers {
  assertOfRun(state, records);
  const open = new Set(requests.map(({ requestId }) => requestId));
  const answers: Record<string, Decision> = {};
  for (const item of state.getInterruptions()) {
    const callId = callIn(records, item.rawItem);
    if (callId === undefined || !records.hasCall(callId)) throw otherRun(records);
    const request = records.request(callId)?.record;
    // The run stopped before it stored the request. The decision answers the request of the resumed run.
    if (!request) continue;
    const decision = decisionOf(state, item);
    if (!decision) continue;
    if (open.has(request.request)) answers[request.request] = decision;
    else assertDecided(request, decision.approved, records, [...open]);
  }
  return answers;
}

/** Returns the answers of a `RunState` to later requests. Only decisions for all calls of a tool apply later. */
export function laterDecisionsIn(
  state: AnyState,
  requests: readonly PendingRequest[],
  approvals: ReadonlyMap<string, RunToolApprovalItem>,
): Answers {
  const answers: Record<string, Decision> = {};
  for (const request of requests) {
    const item = request.kind === "approval" ? approvals.get(request.toolCallId) : undefined;
    const decision = item && decisionOf(state, item);
    if (decision) answers[request.requestId] = decision;
  }
  return answers;
}

/** Copies the decisions of an earlier `RunState` to a later one of the same run. */
export function keepDecisions(state: AnyState, earlier: AnyState): void {
  if (state._context !== earlier._context)
    (state._context as unknown as Decisions)._mergeApprovalState(earlier._context);
}

function assertOfRun(state: AnyState, records: RunRecords): void {
  const made = runOfState(state);
  const isKnown = made
    ? records.exists && made.agentId === records.agentId && made.runId === records.runId
    : records.exists && hasCallOf(records, state);
  if (!isKnown) throw otherRun(records);
  if (state.pendingInput.length > 0) {
    const expected = "expected no input from addInput(), because it is not stored. Pass it to the next run";
    throw new InvalidInputError("input of a run", [{ path: "pendingInput", expected }]);
  }
}

function otherRun({ agentId }: RunRecords): InvalidInputError {
  const expected = `expected a RunState of the last run of agent ${quoted(agentId)}, found a state of another run. Pass the state of the last result, or call resume(agent, { agentId })`;
  return new InvalidInputError("input of a run", [{ path: "", expected }]);
}

function hasCallOf(records: RunRecords, state: AnyState): boolean {
  return [...state._generatedItems, ...state.getInterruptions()].some((item) => {
    const callId = "rawItem" in item && item.rawItem ? callIn(records, item.rawItem) : undefined;
    return callId !== undefined && records.hasCall(callId);
  });
}

function callIn(records: RunRecords, rawItem: object): string | undefined {
  const id = idOf(rawItem);
  return isHosted(rawItem) && id !== undefined ? records.callOfProvider(id) : id;
}

function isHosted(rawItem: object): boolean {
  return "type" in rawItem && rawItem.type === "hosted_tool_call";
}

/** Returns the id that a call has in the SDK. For a call that the provider executes, returns the provider's id. */
function idOf(rawItem: object): string | undefined {
  const { callId, id, providerData } = rawItem as {
    readonly callId?: string;
    readonly id?: string;
    readonly providerData?: { readonly id?: string };
  };
  return isHosted(rawItem) ? (providerData?.id ?? id) : callId;
}

/** Returns the decision of a state about a call. @throws ModelBehaviorError of the SDK if the item is a changed copy */
function decisionOf({ _context }: AnyState, item: RunToolApprovalItem): Decision | undefined {
  const context = _context as unknown as Decisions;
  const { agent, name = "", rawItem } = item;
  const { functionToolStateKey } = item as { readonly functionToolStateKey?: string };
  const toolName = functionToolStateKey ?? name;
  const callId = idOf(rawItem) ?? "";
  const isOfProvider = isHosted(rawItem);
  if (isOfProvider || functionToolStateKey !== undefined)
    validateToolInvocationName(_context, agent, toolName, rawItem);
  const approved = isOfProvider
    ? context._getHostedMcpApprovalStatus(item)
    : context.isToolApproved({ toolName, callId, agent });
  if (approved !== false) return approved && { approved };
  const reason = isOfProvider
    ? context._getHostedMcpRejectionMessage(item)
    : context.getRejectionMessage(toolName, callId);
  return { approved, ...(reason !== undefined && { reason }) };
}

/** The default limit of the SDK. */
const defaultMaxTurns = 10;

/** The last execution of the loop in one call of `run` or `resume`. */
export interface Attempt {
  /** `undefined` if no loop has run. */
  run?: DurableRun;
  /** The result with which the loop stopped for approvals. `undefined` if a tool call waits. */
  stopped?: AnyResult | AnyStream | undefined;
}

interface Waiting {
  readonly agent: AnySdkAgent;
  readonly options: SdkOptions;
  /** The state that the run was resumed from, whose decisions are kept. */
  readonly state?: AnyState;
}

/** Returns the state of a waiting run for the user. Its interruptions are the open requests. */
export function waitingState(asked: Waiting, requests: readonly PendingRequest[], attempt: Attempt): AnyState {
  const { run, stopped } = attempt;
  const state =
    run && stopped
      ? onlyOpen(withOriginalAgents(stopped, asked.agent, run).state, run, requests)
      : interruptedState(asked, requests, run);
  if (asked.state) keepDecisions(state, asked.state);
  return state;
}

function interruptedState(
  { agent, options }: Waiting,
  requests: readonly PendingRequest[],
  run: DurableRun | undefined,
): AnyState {
  const { context, maxTurns = defaultMaxTurns } = options;
  const runContext = context instanceof RunContext ? context : new RunContext(context);
  const state = new RunState<unknown, AnySdkAgent>(runContext, [], agent, maxTurns);
  const interruptions = requests.flatMap((request) => {
    const known = request.kind === "approval" ? run?.approvals.get(request.toolCallId) : undefined;
    return known ?? interruptionOf(agent, request);
  });
  state._currentStep = { type: "next_step_interruption", data: { interruptions } };
  if (run) noteRun(state, run);
  return state;
}

/** Removes the interruptions that are answered, as the SDK does after it has made their calls. */
function onlyOpen(state: AnyState, run: DurableRun, requests: readonly PendingRequest[]): AnyState {
  if (state._currentStep?.type !== "next_step_interruption") return state;
  const { data } = state._currentStep;
  const all = data["interruptions"] as readonly RunToolApprovalItem[];
  const open = new Set(requests.map((request) => (request.kind === "approval" ? request.toolCallId : undefined)));
  const interruptions = all.filter(({ rawItem }) => open.has(run.ids.ofApproval(rawItem)));
  const answered = new Set<unknown>(all.filter((item) => !interruptions.includes(item)));
  state._currentStep = { type: "next_step_interruption", data: { ...data, interruptions } };
  state._generatedItems = state._generatedItems.filter((item) => !answered.has(item));
  return state;
}

function interruptionOf(agent: AnySdkAgent, request: PendingRequest): RunToolApprovalItem[] {
  if (request.kind !== "approval") return [];
  const { toolCallId: callId, toolName: name, input } = request;
  const rawItem = {
    type: "function_call",
    callId,
    name,
    arguments: JSON.stringify(input),
    status: "in_progress",
  } as const;
  return [new RunToolApprovalItem(rawItem, agent)];
}
