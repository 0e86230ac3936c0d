import type { RunnableConfig } from "@langchain/core/runnables";
import type { StructuredToolInterface } from "@langchain/core/tools";

export type ToolConfig = RunnableConfig<Record<string, unknown>> & {
  readonly toolCall?: { readonly id?: string } | undefined;
  readonly executionInfo?: { readonly nodeAttempt?: number } | undefined;
};

/** The callback manager that LangChain passes to a tool. */
export interface ToolRun {
  handleToolEvent?(chunk: unknown): unknown;
}

/** The members of a LangChain tool that a durable tool overrides. */
export interface GraphTool extends StructuredToolInterface {
  /** Called with the unvalidated input of each call. */
  call(input: unknown, config?: unknown, tags?: unknown): Promise<unknown>;
  /** Called with the validated input and the config. */
  _call(input: unknown, run: ToolRun | undefined, config: ToolConfig | undefined): unknown;
}
