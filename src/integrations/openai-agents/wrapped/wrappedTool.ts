import {
  attachClientToolSearchExecutor,
  getClientToolSearchExecutor,
  invokeFunctionTool,
  ToolTimeoutError,
  getCurrentTraceContext,
  type Span,
  type SpanError,
  withTraceContext,
} from "@openai/agents-core";
import {
  getFunctionToolApprovalInput,
  hasDynamicFunctionToolApprovalPolicy,
  prepareFunctionToolInput,
} from "@openai/agents-core/utils/internal";
import { InvalidInputError } from "../../../errors/agentErrors.ts";
import { ToolFailedError } from "../../../errors/toolCallErrors.ts";
import { timeoutFailure } from "../../../agent/tool/callTimeout.ts";
import { isToolFailure, toldToModel } from "../../../agent/tool/Tool.ts";
import { copyWith } from "../../../internal/copyWith.ts";
import { reasonOf } from "../../../internal/reasonOf.ts";
import type { PerformOptions } from "../../hosted/HostedLoop.ts";
import { type DurableRun, currentCall, inRun } from "./DurableRun.ts";
import { parsedInput } from "./recordedResponse.ts";
import { noteOriginal, originalOf } from "./originals.ts";
import { unrecordedCode } from "./runnerConfig.ts";
import type { AnySdkTool, AnyComputerTool, AnyFunctionTool, AnyHostedTool, AnyContext } from "./AnyAgent.ts";

type Invoke = AnyFunctionTool["invoke"];
type Details = NonNullable<Parameters<Invoke>[2]>;

/**
 * Returns a tool whose calls are recorded. A tool search that runs in the client is wrapped, because the search loads
 * tools. A computer tool keeps its computer until the end of the run. Other tools are returned unchanged.
 */
export function wrappedTool<Given extends AnySdkTool>(given: Given, run: DurableRun): Given {
  const tool: AnySdkTool = originalOf(given);
  const known = run.tools.get(tool);
  if (known) return known as Given;
  if (run.executesNothing && unrecorded.has(tool.type)) throw refused(tool, run);
  if (tool.type === "hosted_tool") return durableToolSearch(tool, run) as Given;
  if (tool.type === "computer") return durableComputerTool(tool, run) as Given;
  if (tool.type !== "function") return given;
  run.knownTools.meet(tool);
  return noted(tool, copyWith(tool, membersOf(tool, run)), run) as Given;
}

/** Notes the durable form of a tool, and returns it. */
function noted<Given extends AnySdkTool>(tool: Given, durable: Given, run: DurableRun): Given {
  run.tools.set(tool, durable);
  noteOriginal(durable, tool);
  return durable;
}

/** Calls of these tools are not recorded, so a replay would make them again. */
const unrecorded: ReadonlySet<string> = new Set(["computer", "shell", "apply_patch"]);

function refused({ name, type }: AnySdkTool, run: DurableRun): InvalidInputError {
  const expected = `expected no ${type} tool such as "${name}": its calls are not recorded, and a replay would make them`;
  run.refusal ??= new InvalidInputError("agent of replay()", [{ path: "tools", expected }]);
  return run.refusal;
}

function durableComputerTool(tool: AnyComputerTool, run: DurableRun): AnyComputerTool {
  const { agentId, runId, knownTools } = run;
  const durable = knownTools.computers.keeping(tool, () => ({ agentId, runId, call: currentCall() }));
  return noted(tool, durable, run);
}

function durableToolSearch(tool: AnyHostedTool, run: DurableRun): AnyHostedTool {
  const search = getClientToolSearchExecutor<unknown>(tool);
  if (!search) return tool;
  const durable = attachClientToolSearchExecutor<unknown>({ ...tool }, async (args) => {
    const availableTools = args.availableTools.map(originalOf);
    const found = await search({ ...args, agent: originalOf(args.agent), availableTools });
    return [found ?? []].flat().map((each) => wrappedTool(each, run));
  });
  return noted(tool, durable, run);
}

function membersOf(tool: AnyFunctionTool, run: DurableRun): Partial<AnyFunctionTool> {
  const invoke: Invoke = (runContext, input, details) => call(run, { tool, runContext, input, details });
  const { inputGuardrails = [], outputGuardrails = [] } = tool;
  return {
    invoke,
    // Only the original tool has the time limit, so that the time for writing records does not count.
    timeoutMs: undefined as never,
    inputGuardrails: inputGuardrails.map((guardrail) => ({ ...guardrail, run: unrecordedCode(guardrail.run) })),
    outputGuardrails: outputGuardrails.map((guardrail) => ({ ...guardrail, run: unrecordedCode(guardrail.run) })),
    // The SDK compares the policy with its default, so a default policy must stay the same object.
    ...(hasDynamicFunctionToolApprovalPolicy(tool) && { needsApproval: policyOf(tool) }),
  };
}

/** Returns the approval policy of the original tool, which receives the input that the original tool has parsed. */
function policyOf(tool: AnyFunctionTool): AnyFunctionTool["needsApproval"] {
  return async (runContext, input, callId) => {
    const prepared = prepareFunctionToolInput(tool, JSON.stringify(input));
    const parsed: unknown = prepared?.result.success ? getFunctionToolApprovalInput(prepared.result.value) : input;
    return tool.needsApproval(runContext, parsed as never, callId);
  };
}

interface Invocation {
  readonly tool: AnyFunctionTool;
  readonly runContext: AnyContext;
  readonly input: string;
  readonly details?: Details | undefined;
}

async function call(run: DurableRun, invocation: Invocation): Promise<unknown> {
  const { tool, runContext, input, details } = invocation;
  const toolCallId = details?.toolCall?.callId;
  // A call is recorded only if a recorded response contains it.
  if (details === undefined || toolCallId === undefined || !run.ids.has(toolCallId))
    return invokeFunctionTool({ tool, runContext, input, ...(details && { details }) });
  const shown: ShownError = {};
  try {
    return await run.loop.call(toolCallId, {
      tool: run.knownTools.named(tool.name),
      input: parsedInput(input),
      perform: (options) => perform(run, { ...invocation, details, toolCallId, shown }, options),
    });
  } catch (error) {
    if (isToolFailure(error)) return shownFailure(error, shown);
    throw error;
  }
}

/** Returns or throws the outcome that the SDK expects. In a replay, an error is returned as a message for the model. */
function shownFailure(error: Parameters<typeof toldToModel>[0], shown: ShownError): unknown {
  if ("output" in shown) return shown.output;
  if ("thrown" in shown) throw shown.thrown;
  // oxlint-disable-next-line typescript/only-throw-error -- a tool may throw anything
  if (error instanceof ToolFailedError && error.cause !== undefined) throw error.cause;
  return toldToModel(error);
}

/** How the SDK reported that a tool failed or exceeded its time limit: with an output, or by throwing. */
interface ShownError {
  output?: unknown;
  thrown?: unknown;
}

interface Performance extends Invocation {
  readonly details: Details;
  readonly toolCallId: string;
  readonly shown: ShownError;
}

async function perform(run: DurableRun, performance: Performance, options: PerformOptions): Promise<unknown> {
  const { tool, runContext, input, details, toolCallId, shown } = performance;
  const signalled = {
    // At the time limit, the SDK returns a text by default.
    tool: copyWith(tool, { timeoutBehavior: "raise_exception" }),
    runContext,
    input,
    details: withSignal(details, options.abortSignal),
  };
  try {
    const invoke = (): Promise<unknown> => inRun(run, toolCallId, () => invokeFunctionTool(signalled));
    const { output, failed } = await withToolErrors(tool.name, invoke);
    // The SDK turns every error in a tool into a text for the model. The text is no output of the tool.
    if (run.loop.failure) throw run.loop.failure.error;
    if (!failed) return output;
    options.abortSignal.throwIfAborted();
    shown.output = output;
    throw new ToolFailedError(tool.name, options.toolCallId, reasonOf(output));
  } catch (error) {
    if (!(error instanceof ToolTimeoutError) || error.toolName !== tool.name) throw error;
    await showTimeout(performance, error);
    throw shownTimeout(run, performance, options.toolCallId);
  }
}

async function showTimeout({ tool, runContext, details, shown }: Performance, error: ToolTimeoutError): Promise<void> {
  if (tool.timeoutBehavior === "raise_exception") shown.thrown = error;
  else
    try {
      shown.output = tool.timeoutErrorFunction
        ? await tool.timeoutErrorFunction(runContext, error, details)
        : error.message;
    } catch (thrown) {
      shown.thrown = thrown;
    }
}

function shownTimeout(run: DurableRun, { tool, shown }: Performance, id: string): Error {
  const reason = reasonOf("output" in shown ? shown.output : shown.thrown);
  return timeoutFailure(run.knownTools.named(tool.name).tool, id, tool.timeoutMs, reason);
}

/** Adds a signal to the details of a call. The details have more fields than the types of the SDK. */
function withSignal(details: Details, signal: AbortSignal): Details {
  return copyWith(details, { signal: AbortSignal.any(details.signal ? [details.signal, signal] : [signal]) });
}

/** The message that the SDK sends to the model for a failed tool. */
const failureText = "An error occurred while running the tool. Please try again.";

/** The message with which the SDK reports to the current span that a tool failed and a text replaces its output. */
const spanMessage = "Error running tool (non-fatal)";

type AnySpan = Span<never>;

/**
 * Calls a tool and returns whether a text replaces an error of the tool. The SDK reports the error only to the current
 * span. Without a trace, the call gets a span that only receives errors.
 */
async function withToolErrors(
  toolName: string,
  invoke: () => Promise<unknown>,
): Promise<{ readonly output: unknown; readonly failed: boolean }> {
  let failed = false;
  const note = ({ message, data }: SpanError): void => {
    failed ||= message === spanMessage && data?.["tool_name"] === toolName;
  };
  const context = getCurrentTraceContext();
  const output = context
    ? await noting(context.span as AnySpan | undefined, note, invoke)
    : await withTraceContext({ trace: undefined as never, span: spanFor(note) }, invoke);
  return { output, failed: failed || output === failureText };
}

async function noting(
  span: AnySpan | undefined,
  note: (error: SpanError) => void,
  invoke: () => Promise<unknown>,
): Promise<unknown> {
  if (!span) return invoke();
  const own = Object.getOwnPropertyDescriptor(span, "setError");
  const setError = span.setError.bind(span);
  span.setError = (error) => {
    note(error);
    setError(error);
  };
  try {
    return await invoke();
  } finally {
    if (own) Object.defineProperty(span, "setError", own);
    else Reflect.deleteProperty(span, "setError");
  }
}

function spanFor(setError: (error: SpanError) => void): AnySpan {
  const span = { setError, clone: () => span };
  return span as unknown as AnySpan;
}
