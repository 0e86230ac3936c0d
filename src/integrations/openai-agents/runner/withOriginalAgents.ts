import { RunState } from "@openai/agents-core";
import type { AnySdkAgent, AnyResult, AnyState, AnyStream } from "../wrapped/AnyAgent.ts";
import type { DurableRun } from "../wrapped/DurableRun.ts";
import { originalOf } from "../wrapped/originals.ts";

/** Replaces the durable agents in a result by the user's agents, because users compare agents by identity. */
export function withOriginalAgents<Result extends AnyResult | AnyStream>(
  result: Result,
  agent: AnySdkAgent,
  run: DurableRun,
): Result {
  return Object.assign(result, { state: givenState(result.state, agent, run) });
}

/** Replaces the durable agents in the states of an SDK error and of its inner error. Returns the error. */
export function errorWithOriginalAgents(error: unknown, agent: AnySdkAgent, run: DurableRun): unknown {
  const { error: inner } = Object(error) as { readonly error?: unknown };
  for (const each of [error, inner]) {
    const { state } = Object(each) as { readonly state?: unknown };
    if (state instanceof RunState) Object.assign(each as object, { state: givenState(state, agent, run) });
  }
  return error;
}

const givenStates = new WeakMap<AnyState, AnyState>();

/** Returns a copy of a state in which the user's agents replace the durable agents. */
function givenState(state: AnyState, agent: AnySdkAgent, run: DurableRun): AnyState {
  const known = givenStates.get(state);
  if (known) return known;
  for (const item of itemsOf(state)) {
    for (const key of ["agent", "sourceAgent", "targetAgent"])
      if (key in item) Object.assign(item, { [key]: originalOf(Reflect.get(item, key) as unknown) });
  }
  for (const { routedOwners } of state._toolSearchRuntimeToolsByAgent.values()) {
    for (const owner of routedOwners.values()) {
      owner.tool = originalOf(owner.tool);
      owner.entry.tools = owner.entry.tools.map(originalOf);
    }
  }
  const members = Object.entries(state).map(([key, value]): [string, unknown] => [key, withOriginalKeys(value)]);
  const given = new RunState(state._context, [], originalOf(agent), state._maxTurns);
  Object.assign(given, Object.fromEntries(members));
  givenStates.set(state, given);
  noteRun(state, run);
  noteRun(given, run);
  return given;
}

function itemsOf(state: AnyState): readonly object[] {
  const { _currentStep: step, _lastProcessedResponse: response } = state;
  const interruptions = step?.type === "next_step_interruption" ? (step.data["interruptions"] as object[]) : [];
  // Items that the state no longer shows are still in the evidence of completed calls.
  const proofs = [...state._completedToolInvocationEvidence.values()].flatMap((calls) => [...calls.values()]);
  return [
    ...state._generatedItems,
    ...state._outputGuardrailResults,
    ...(response?.newItems ?? []),
    ...interruptions,
    ...proofs.flatMap(({ items }) => items),
  ];
}

function withOriginalKeys(value: unknown): unknown {
  if (!(value instanceof Map)) return originalOf(value);
  return new Map([...(value as Map<unknown, unknown>)].map(([key, each]) => [originalOf(key), each]));
}

/** Identifies the run that made a state. */
interface StatedRun {
  readonly agentId: string;
  readonly runId: string;
}

const runs = new WeakMap<AnyState, StatedRun>();

export function noteRun(state: AnyState, { agentId, runId }: StatedRun): void {
  runs.set(state, { agentId, runId });
}

/** Returns the run that made a state in this process. `undefined` if the state was created from its text. */
export function runOfState(state: AnyState): StatedRun | undefined {
  return runs.get(state);
}
