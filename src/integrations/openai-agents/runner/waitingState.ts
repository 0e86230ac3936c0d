import { RunContext, RunState, RunToolApprovalItem } from "@openai/agents-core";
import type { PendingRequest } from "../../../agent/feature/RunResult.ts";
import type { DurableRun } from "../wrapped/DurableRun.ts";
import type { AnySdkAgent, AnyResult, AnyState, AnyStream } from "../wrapped/AnyAgent.ts";
import { keepDecisions } from "./decisionsIn.ts";
import type { SdkOptions } from "./runLoop.ts";
import { withOriginalAgents, noteRun } from "./withOriginalAgents.ts";

/** The default of the SDK. */
const defaultMaxTurns = 10;

/** The last execution of a loop in one call of `run` or `resume`. */
export interface Attempt {
  /** `undefined` if no loop ran. */
  run?: DurableRun;
  /** The result with which the loop stopped. `undefined` if the run waits inside a tool call. */
  stopped?: AnyResult | AnyStream | undefined;
}

interface Waiting {
  readonly agent: AnySdkAgent;
  readonly options: SdkOptions;
  /** The state that the run was resumed from. Its decisions remain. */
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

/** Drops the interruptions that are answered, as the SDK does once their calls are made. */
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
