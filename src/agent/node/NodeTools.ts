import { z } from "zod";
import type { AssistantMessage, ContentPart, ToolMessage } from "../../checkpoint/messages/Message.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { ToolFailedError, ToolNotStartedError } from "../../errors/toolCallErrors.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchema, checkSchemaAsync, strictOptions } from "../../internal/options/checkSchema.ts";
import { kindOf } from "../../internal/options/optionSchemas.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { AgentContext, AgentTools } from "../context/AgentContext.ts";
import type { ToolCallEvent } from "../feature/PipelineEvents.ts";
import { isRunFailure } from "../feature/Pipeline.ts";
import { subAgentOf } from "../agentAsTool/agentAsTool.ts";
import { assertMessage } from "../model/checkedResponse.ts";
import { type AnyTool, type ApprovalVerdict, isToolFailure, toldToModel, type Tool, toolSchema } from "../tool/Tool.ts";
import { executeInTime } from "../tool/callTimeout.ts";
import { type CallScope, type ScopeCall, replaceToolCallIds } from "./CallScope.ts";

type ToolCallPart = Extract<ContentPart, { type: "tool-call" }>;
type ToolResultPart = Extract<ContentPart, { type: "tool-result" }>;
export type PlannedCall = Omit<ToolCallEvent, "context" | "visit">;

/** The outcome of a call that did not fail. `refused` is set if the call did not start, due to a wrong input. */
type CallOutcome = { readonly refused: InvalidInputError } | { readonly refused?: never; readonly output: unknown };

const calledSchema = z.custom((tool) => toolSchema.safeParse(tool).success, {
  error: ({ input }) =>
    `expected a tool, received ${kindOf(input)}${typeof input === "string" ? ` ${JSON.stringify(input)}` : ""}; pass the tool itself`,
});

const verdictSchema = z.union(
  [z.boolean(), strictOptions(() => ({ prompt: z.string().optional(), expiresAt: z.date().optional() }))],
  { error: "expected true, false, or { prompt, expiresAt }: a text and a valid Date" },
);

interface CallContext extends AgentContext {
  requestApproval(call: ToolCallEvent, judge: () => Promise<ApprovalVerdict>): Promise<void>;
}

export class NodeTools implements AgentTools {
  readonly #scope: CallScope;
  readonly #contextFor: (call: ScopeCall) => CallContext;

  constructor(scope: CallScope, contextFor: (call: ScopeCall) => CallContext) {
    this.#scope = scope;
    this.#contextFor = contextFor;
  }

  async call<Arguments, Output>(tool: Tool<Arguments, Output, never>, input: NoInfer<Arguments>): Promise<Output> {
    this.#scope.visit.assertOpen();
    checkSchema(calledSchema, tool, "call of a tool");
    const ordinal = this.#scope.nextOrdinal("call");
    const toolCallId = this.#scope.idAt("call", ordinal, 0);
    const origin = { kind: "node", ordinal } as const;
    const outcome = await this.start({ toolCallId, tool, input: frozenCopy(input), origin });
    if (outcome.refused) throw outcome.refused;
    return outcome.output as Output;
  }

  async execute(message: AssistantMessage): Promise<ToolMessage> {
    const { visit } = this.#scope;
    visit.assertOpen();
    assertMessage(message, "message to execute", "assistant");
    // A message of another run contains ids of that run. Its calls get new ids, and the history must contain them too.
    const ordinal = this.#scope.nextOrdinal("execute");
    const finding = visit.run.position.findCalls?.(message);
    // If `start` throws, no code awaits this search, so its error must not be unhandled.
    finding?.catch(() => undefined);
    if (finding) await this.#scope.start(undefined, () => finding);
    const issued = this.#scope.withIds(message, "execute", ordinal);
    this.#scope.changeHistory((history) => replaceToolCallIds(history, message, issued));
    const parts = typeof issued.content === "string" ? [] : issued.content;
    const settled = await Promise.allSettled(
      parts.flatMap((part, index) => (part.type === "tool-call" ? [this.#answer(issued, part, index)] : [])),
    );
    const content = settled.map((result) => {
      if (result.status === "rejected") throw result.reason;
      return result.value;
    });
    return frozenCopy({ role: "tool", content });
  }

  async #answer(message: AssistantMessage, part: ToolCallPart, index: number): Promise<ToolResultPart> {
    const { tools } = this.#scope.visit.run;
    const tool = tools.get(part.toolName);
    if (!tool) return resultOf(part, noSuchTool(part.toolName, [...tools.keys()]), true);
    try {
      const origin = { kind: "model", message, index } as const;
      const outcome = await this.start({ toolCallId: part.toolCallId, tool, input: part.input, origin });
      return outcome.refused ? resultOf(part, outcome.refused.message, true) : resultOf(part, outcome.output);
    } catch (error) {
      if (isToolFailure(error)) return resultOf(part, toldToModel(error), true);
      throw error;
    }
  }

  /** Starts a call. The node can catch errors of the tool, but not errors of features. */
  start(planned: PlannedCall): Promise<CallOutcome> {
    return this.#scope.start(planned.toolCallId, async (signal) => {
      const parsed = await tryParse(planned.tool, planned.input);
      if (parsed instanceof InvalidInputError) return { refused: parsed };
      await this.approve(planned, parsed.input, signal);
      return { output: await this.#perform(planned, parsed.input, signal) };
    });
  }

  async approve(planned: PlannedCall, input: unknown, signal: AbortSignal): Promise<void> {
    const { tool, toolCallId } = planned;
    const { visit, context } = this.#scope;
    const { needsApproval = false } = tool;
    if (needsApproval === false) return;
    const judge = async () => {
      if (needsApproval === true) return true;
      // The schema of the tool has parsed this input.
      const verdict = await needsApproval(input as never, { toolCallId, abortSignal: signal });
      checkSchema(verdictSchema, verdict, `result of needsApproval of tool "${tool.name}"`);
      return verdict;
    };
    const call = { ...planned, context, visit: visit.at };
    try {
      await this.#contextOf(tool, toolCallId, signal).requestApproval(call, judge);
    } catch (error) {
      this.#rethrow(error, signal);
    }
  }

  #contextOf({ name: toolName }: AnyTool, toolCallId: string, signal: AbortSignal): CallContext {
    const { callsAround: around } = this.#scope;
    const earlierIds = this.#scope.earlierIdsOf(toolCallId);
    return this.#contextFor({ toolCallId, toolName, around, earlierIds, signal });
  }

  /** Throws an outcome, an abort or a move, which the node can catch. Any other error fails the run. */
  #rethrow(error: unknown, signal: AbortSignal): never {
    const { visit } = this.#scope;
    if (signal.aborted || visit.isMoved || isToolFailure(error)) throw error;
    return visit.fail(error);
  }

  async #perform(planned: PlannedCall, parsed: unknown, signal: AbortSignal): Promise<unknown> {
    const { visit, context } = this.#scope;
    const event: ToolCallEvent = { ...planned, context, visit: visit.at };
    await visit.emit("toolCallStarting", event);
    let output: unknown;
    try {
      const run = (accepted: ToolCallEvent) => this.#run(accepted, event, parsed, signal);
      output = frozenCopy(await visit.run.pipeline.around("toolCall", event, run));
    } catch (error) {
      visit.allowUnanswered();
      await visit.emit("toolCallFailed", { ...event, error });
      if (error instanceof ToolNotStartedError) throw error.cause;
      return this.#rethrow(error, signal);
    }
    await visit.emit("toolCallCompleted", { ...event, output });
    return output;
  }

  /** Runs the tool. If an interceptor changed the id or the input, the input is validated again. */
  async #run(accepted: ToolCallEvent, planned: ToolCallEvent, parsed: unknown, signal: AbortSignal): Promise<unknown> {
    const { visit } = this.#scope;
    const { tool, toolCallId } = accepted;
    const same = accepted.input === planned.input && tool === planned.tool;
    const input = same ? parsed : await checkSchemaAsync(tool.inputSchema, accepted.input, inputOf(tool));
    if (signal.aborted) throw new ToolNotStartedError(tool.name, toolCallId, { cause: signal.reason });
    visit.pending.enter(planned.toolCallId, toolCallId);
    try {
      return await this.#execute(tool, toolCallId, input, signal);
    } catch (cause) {
      visit.allowUnanswered();
      signal.throwIfAborted();
      visit.assertOpen();
      if (visit.failure) throw visit.failure.error;
      if (isRunFailure(cause)) throw cause;
      if (isToolFailure(cause) && cause.toolCallId === toolCallId) throw cause;
      throw new ToolFailedError(tool.name, toolCallId, reasonOf(cause), { cause });
    } finally {
      // The result may be delivered later, in recorded order. Nodes need not wait for these requests until then.
      visit.pending.dropRequests(toolCallId);
    }
  }

  async #execute(tool: AnyTool, toolCallId: string, input: unknown, signal: AbortSignal): Promise<unknown> {
    const { visit } = this.#scope;
    const { generation, definition, abortGrace } = visit.run;
    const { messages } = visit.state.history;
    const agent = subAgentOf(tool);
    if (agent) {
      const onWaiting = (waits: boolean) => visit.setWaiting(toolCallId, waits);
      return visit.run.callAgent(agent, { toolCallId, toolName: tool.name, input, onWaiting });
    }
    const execute = (abortSignal: AbortSignal): unknown => {
      const context = this.#contextOf(tool, toolCallId, abortSignal);
      return tool.execute(input as never, { toolCallId, generation, messages, abortSignal, context });
    };
    const timeoutMs = tool.timeoutMs ?? definition.toolTimeoutMs;
    if (timeoutMs === Infinity) return execute(signal);
    const onLate = (reason: unknown) => visit.pending.abortWithin(toolCallId, reason);
    const onBegun = (cancel: () => void) => visit.addLimit(toolCallId, cancel);
    const limit = { tool, toolCallId, timeoutMs, signal, grace: abortGrace, onLate, onBegun };
    return executeInTime(limit, async (abortSignal) => execute(abortSignal));
  }
}

async function tryParse(tool: AnyTool, input: unknown): Promise<{ readonly input: unknown } | InvalidInputError> {
  try {
    return { input: await checkSchemaAsync(tool.inputSchema, input, inputOf(tool)) };
  } catch (error) {
    if (error instanceof InvalidInputError) return error;
    throw error;
  }
}

function inputOf(tool: AnyTool): string {
  return `input of tool "${tool.name}"`;
}

function resultOf(part: ToolCallPart, output: unknown, isError?: true): ToolResultPart {
  const { toolCallId, providerToolCallId, toolName } = part;
  const providerId = providerToolCallId !== undefined && { providerToolCallId };
  return { type: "tool-result", toolCallId, ...providerId, toolName, ...(isError && { isError }), output };
}

function noSuchTool(name: string, names: readonly string[]): string {
  const found =
    names.length === 0 ? "There are none." : `The tools are: ${names.map((known) => `"${known}"`).join(", ")}.`;
  return `There is no tool "${name}". ${found}`;
}
