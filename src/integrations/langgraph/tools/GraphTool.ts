import type { RunnableConfig } from "@langchain/core/runnables";
import type { StructuredToolInterface } from "@langchain/core/tools";

/** The config that LangChain gives to a tool. */
export type ToolConfig = RunnableConfig<Record<string, unknown>> & {
  readonly toolCall?: { readonly id?: string } | undefined;
  readonly executionInfo?: { readonly nodeAttempt?: number } | undefined;
};

/** What LangChain tells its callbacks of a tool. */
export interface ToolRun {
  handleToolEvent?(chunk: unknown): unknown;
}

/** The members of a tool of LangChain that a durable one has instead. */
export interface GraphTool extends StructuredToolInterface {
  /** Called for each call, with the input as it was written. */
  call(input: unknown, config?: unknown, tags?: unknown): Promise<unknown>;
  /** The tool itself: what the schema made of the input, and the config. */
  _call(input: unknown, run: ToolRun | undefined, config: ToolConfig | undefined): unknown;
}
