import { Runner, type RunToolApprovalItem, type Session, RunState } from "@openai/agents-core";
import { withoutUndefined } from "../../../internal/withoutUndefined.ts";
import type { AnySdkAgent, AnyResult, AnyStream, AnyState } from "../wrapped/AnyAgent.ts";
import { wrappedAgent } from "../wrapped/wrappedAgent.ts";
import { type DurableRun, besideTheRun, currentCall, currentRun } from "../wrapped/DurableRun.ts";
import { givenOriginals, withOriginalAgent } from "../wrapped/originals.ts";
import { sessionInRun } from "../wrapped/sessionInRun.ts";
import { JoinedStream } from "./JoinedStream.ts";
import { errorWithOriginalAgents, withOriginalAgents } from "./withOriginalAgents.ts";
import { unexplainedRejection } from "../../../agent/tool/Tool.ts";
import { InvalidInputError } from "../../../errors/agentErrors.ts";
import type { ApprovableCall, HostedApproval } from "../../hosted/HostedLoop.ts";
import { parsedInput } from "../wrapped/recordedResponse.ts";
import { quoted } from "../../../errors/AgentPersistenceError.ts";
import { storeOf } from "../session/SessionStore.ts";
import { makeDurable } from "../wrapped/runnerConfig.ts";

type Run = Runner["run"];
export type RunInput = Exclude<Parameters<Run>[1], AnyState>;
export type SdkOptions = Omit<NonNullable<Parameters<Run>[2]>, "stream">;

export interface LoopRequest {
  readonly runner: Runner;
  readonly agent: AnySdkAgent;
  readonly input: RunInput;
  readonly options: SdkOptions;
}

/** The SDK's `run`, stored before {@link joinNestedRuns} replaces it. */
// oxlint-disable-next-line typescript/unbound-method -- it is called with its runner
export const runOfSdk: Run = Runner.prototype.run;

interface LoopOptions<Result> {
  /** Receives the streams of the loop. Omitted for a loop without streams. */
  readonly joined?: JoinedStream | undefined;
  readonly onStop?: OnStop<Result>;
}

/** Runs an agent of the SDK inside a durable run, until its end. Waits for approvals. */
export async function runLoop<Result extends AnyResult | AnyStream>(
  run: DurableRun,
  { runner, agent, input, options }: LoopRequest,
  { joined, onStop }: LoopOptions<Result> = {},
): Promise<Result> {
  const given = { ...optionsIn(run, options), stream: joined !== undefined };
  const durable = wrappedAgent(agent, run);
  let round: Result | undefined;
  const begin = async (from: RunInput | AnyState) => {
    round = (await runOfSdk.call(runner, durable, from, given as never)) as unknown as Result;
    await joined?.add(round as AnyStream);
    return round;
  };
  try {
    return await runToEnd(run, input, begin, onStop);
  } catch (error) {
    throw errorWithOriginalAgents(error, agent, run);
  } finally {
    // Users also read the state of a stream that was aborted.
    if (round) withOriginalAgents(round, agent, run);
  }
}

function optionsIn(run: DurableRun, options: SdkOptions): SdkOptions {
  const { session, callModelInputFilter } = options;
  return {
    ...options,
    ...(session && { session: sessionInRun(session, run) }),
    ...(callModelInputFilter && { callModelInputFilter: givenOriginals(callModelInputFilter) }),
  };
}

/** Returns the options that the SDK takes from a state in a resume, without the usage, which is recorded. */
export function optionsOfState(state: AnyState): Partial<SdkOptions> {
  return withoutUndefined({
    context: state._context.context as unknown,
    maxTurns: state._maxTurns,
    conversationId: state._conversationId,
    previousResponseId: state._previousResponseId,
    reasoningItemIdPolicy: state._reasoningItemIdPolicy,
  });
}

interface Round {
  readonly interruptions: readonly RunToolApprovalItem[];
  readonly state: AnyState;
}

/** Receives the result with which a loop stops for approvals, and `undefined` when the loop continues. */
type OnStop<Result> = (stopped: Result | undefined) => void;

/**
 * Runs a loop of the SDK to its end. If the loop stops for approvals, continues it after the answers.
 *
 * @param begin - runs the loop from its input or its state, until it stops.
 */
async function runToEnd<Result extends Round, Input>(
  run: DurableRun,
  input: Input,
  begin: (input: Input | AnyState) => Promise<Result>,
  onStop: OnStop<Result> = () => {},
): Promise<Result> {
  let result = await begin(input);
  while (result.interruptions.length > 0) {
    onStop(result);
    await decideApprovals(run, result);
    onStop(undefined);
    result = await begin(result.state);
  }
  // An aborted stream of the SDK ends without an error.
  run.loop.signal.throwIfAborted();
  return result;
}

/**
 * Waits until all interruptions are answered, and adds the answers to the state of the loop. If an answer is missing,
 * the run ends with the status `waiting` and the promise never settles.
 *
 * @throws InvalidInputError for an approval of a computer, shell or patch call
 */
async function decideApprovals(
  run: DurableRun,
  { interruptions, state }: { readonly interruptions: readonly RunToolApprovalItem[]; readonly state: AnyState },
): Promise<void> {
  const calls = interruptions.map((item) => callOf(run, item));
  for (const [index, { toolCallId }] of calls.entries())
    run.approvals.set(toolCallId, withOriginalAgent(interruptions[index] as RunToolApprovalItem));
  const verdicts = await run.loop.approvals(calls);
  for (const [index, item] of interruptions.entries()) {
    const verdict = verdicts[index];
    if (verdict?.approved) state.approve(item);
    else state.reject(item, messageOf(verdict));
  }
}

/** Returns the rejection message for the model. Without a reason, the SDK uses the message that the user configured. */
function messageOf(verdict: HostedApproval | undefined): { readonly message: string } | undefined {
  if (!verdict || verdict.approved || verdict.reason === unexplainedRejection) return undefined;
  return { message: verdict.reason };
}

function callOf(run: DurableRun, { rawItem, name = "" }: RunToolApprovalItem): ApprovableCall {
  const toolCallId = run.ids.ofApproval(rawItem);
  if (toolCallId === undefined || (rawItem.type !== "function_call" && rawItem.type !== "hosted_tool_call"))
    throw new InvalidInputError("approval", [
      {
        path: "type",
        expected: `expected an approval of a function tool or a hosted MCP tool, found an approval of ${rawItem.type} "${name}"`,
      },
    ]);
  const { arguments: input } = rawItem.type === "function_call" ? rawItem : (rawItem.providerData ?? {});
  return { toolCallId, tool: run.knownTools.named(rawItem.name), input: parsedInput(input) };
}

interface InputWithSession {
  readonly input: RunInput;
  /** The id of a PersistenceSession. `null` for any other session, whose id can differ between processes. */
  readonly session: string | null;
}

export type StoredInput = RunInput | InputWithSession;

export async function storedInput(input: RunInput, session: Session | undefined): Promise<StoredInput> {
  return session ? { input, session: await nameOf(session) } : input;
}

export function givenInput(stored: StoredInput): RunInput {
  return isWithSession(stored) ? stored.input : stored;
}

/** @throws InvalidInputError if the session is not the one that the run started with */
export async function assertSameSession(stored: StoredInput, session: Session | undefined): Promise<void> {
  const begun = isWithSession(stored) ? stored.session : undefined;
  const given = session && (await nameOf(session));
  if (begun === given) return;
  const expected = `expected ${wordsFor(begun)}, as at the start of the run, found ${wordsFor(given)}`;
  throw new InvalidInputError("options of a resume", [{ path: "session", expected }]);
}

function isWithSession(stored: StoredInput): stored is InputWithSession {
  return typeof stored === "object" && "session" in stored;
}

async function nameOf(session: Session): Promise<string | null> {
  return storeOf(session) ? session.getSessionId() : null;
}

function wordsFor(session: string | null | undefined): string {
  if (session === undefined) return "no session";
  return session === null ? "a session other than a PersistenceSession" : `the PersistenceSession ${quoted(session)}`;
}

type Given = Parameters<Runner["run"]>;

/**
 * Replaces `Runner.prototype.run`, because an agent in a tool uses a runner that only the SDK knows. A run inside a
 * tool call of a durable run becomes part of the durable run. Other runs do not change.
 */
export function joinNestedRuns(): void {
  if (Runner.prototype.run === nestedRun) return;
  Runner.prototype.run = nestedRun as Runner["run"];
}

async function nestedRun(
  this: Runner,
  agent: AnySdkAgent,
  input: Given[1],
  options: Given[2],
): Promise<AnyResult | AnyStream> {
  const run = currentRun();
  const call = currentCall();
  const asEver = () => runOfSdk.call(this, agent, input, options as never);
  if (!run) return asEver();
  // Not recorded: a run outside of a tool call, because runs outside of calls have no fixed order, and a run of a
  // `RunState`, because its agents are not durable.
  if (call === undefined || input instanceof RunState) return besideTheRun(asEver)();
  makeDurable(this);
  const { stream = false, ...rest } = options ?? {};
  const request: LoopRequest = { runner: this, agent, input, options: rest };
  const joined = stream ? new JoinedStream() : undefined;
  const done = run.turns.runExclusive(call, () => runLoop(run, request, { joined }));
  return joined ? joined.begun(done.then(() => undefined)) : done;
}
