import { ToolFailedError } from "../../errors/toolCall/ToolFailedError.ts";
import { ToolNotStartedError } from "../../errors/toolCall/ToolNotStartedError.ts";
import { InvalidInputError } from "../../errors/agent/InvalidInputError.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import type { CallScope, ScopeCall } from "./CallScope.ts";
import { checkSchemaAsync } from "../../internal/options/checkSchema.ts";
import { isToolFailure } from "../tool/isToolFailure.ts";
import type { ToolCallEvent } from "../feature/PipelineEvents.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { AnyTool } from "../tool/Tool.ts";

type PlannedCall = Omit<ToolCallEvent, "context" | "visit">;

/** How a call ended that did not fail. A refused one reached neither the tool nor any feature. */
export type CallOutcome =
  | { readonly refused: InvalidInputError }
  | { readonly refused?: never; readonly output: unknown };

/** Carries out the tool calls of one context. */
export class ToolCaller {
  readonly #scope: CallScope;
  readonly #context: AgentContext;
  readonly #contextFor: (call: ScopeCall) => AgentContext;

  /** @param contextFor makes the context that a tool gets. */
  constructor(scope: CallScope, context: AgentContext, contextFor: (call: ScopeCall) => AgentContext) {
    this.#scope = scope;
    this.#context = context;
    this.#contextFor = contextFor;
  }

  /** Rejects with ToolFailedError when the tool failed, with ToolOutcomeUnknownError when that is not known, and with what a feature threw, which fails the run. */
  call(planned: PlannedCall): Promise<CallOutcome> {
    return this.#scope.visit.start({ id: planned.toolCallId, within: this.#scope.call?.toolCallId }, async (signal) => {
      const parsed = await tryParse(planned.tool, planned.input);
      if (parsed instanceof InvalidInputError) return { refused: parsed };
      return { output: await this.#perform(planned, parsed.input, signal) };
    });
  }

  async #perform(planned: PlannedCall, parsed: unknown, signal: AbortSignal): Promise<unknown> {
    const { visit } = this.#scope;
    const event: ToolCallEvent = { ...planned, context: this.#context, visit: visit.at };
    await visit.tell("toolCallStarting", event);
    let output: unknown;
    try {
      output = frozenCopy(
        await visit.run.pipeline.around("toolCall", event, (accepted) => this.#run(accepted, event, parsed, signal)),
      );
    } catch (error) {
      await visit.tell("toolCallFailed", { ...event, error });
      if (error instanceof ToolNotStartedError) throw error.cause;
      if (signal.aborted || visit.isMoved || isToolFailure(error)) throw error;
      return visit.fail(error);
    }
    await visit.tell("toolCallCompleted", { ...event, output });
    return output;
  }

  /** Runs the tool itself. An interceptor may have given it another id, or another input, which is checked again. */
  async #run(accepted: ToolCallEvent, planned: ToolCallEvent, parsed: unknown, signal: AbortSignal): Promise<unknown> {
    const { visit } = this.#scope;
    const { tool, toolCallId } = accepted;
    const same = accepted.input === planned.input && tool === planned.tool;
    const input = same ? parsed : await checkSchemaAsync(tool.inputSchema, accepted.input, inputOf(tool));
    if (signal.aborted) throw new ToolNotStartedError(tool.name, toolCallId, { cause: signal.reason });
    if (toolCallId !== planned.toolCallId) visit.rename(planned.toolCallId, toolCallId);
    const context = this.#contextFor({ toolCallId, signal });
    const { generation } = visit.run;
    try {
      // The schema, which the tool's own type stands for, has just made this input.
      return await tool.execute(input as never, {
        toolCallId,
        generation,
        messages: visit.state.history.messages,
        abortSignal: signal,
        context,
      });
    } catch (cause) {
      signal.throwIfAborted();
      visit.assertOpen();
      if (visit.failure) throw visit.failure.error;
      throw new ToolFailedError(tool.name, toolCallId, reasonOf(cause), { cause });
    }
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
