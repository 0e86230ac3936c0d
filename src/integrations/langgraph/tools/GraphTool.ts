import type { RunnableConfig } from "@langchain/core/runnables";
import type { StructuredToolInterface, DynamicTool } from "@langchain/core/tools";
import type { InferInteropZodOutput, InteropZodType } from "@langchain/core/utils/types";
import type { z } from "zod";
import { type ToolEffect, type ToolProbeAnswer, toolSettings } from "../../../agent/tool/Tool.ts";
import { strictOptions } from "../../../internal/options/checkSchema.ts";
import type { HostedProbe } from "../../hosted/HostedTool.ts";

export const graphToolSettingsSchema: z.ZodType = strictOptions(() => ({
  effect: toolSettings.effect,
  probe: toolSettings.probe,
}));

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

/** A tool of LangChain. */
export type LangChainTool = StructuredToolInterface | DynamicTool;

/** Defines how crash recovery treats the calls of a LangChain tool. */
export interface GraphToolSettings<in Input = never> {
  /**
   * The side effect of a call. An interrupted call with the effect `none` or `idempotent` is repeated. The outcome of
   * any other interrupted call must be determined. Defaults to `irreversible`.
   */
  readonly effect?: ToolEffect | undefined;
  /**
   * Finds out whether an interrupted call took effect, from its validated input. Not called if the effect is `none` or
   * `idempotent`. The outcome is `unknown` if the probe is missing or throws.
   */
  readonly probe?: ((input: Input, call: HostedProbe) => ToolProbeAnswer | PromiseLike<ToolProbeAnswer>) | undefined;
}

type InputOf<Tool> = Tool extends { readonly schema: infer Schema }
  ? Schema extends InteropZodType
    ? InferInteropZodOutput<Schema>
    : unknown
  : unknown;

type ToolNamed<Tool, Name> = Tool extends { readonly name: infer Given } ? (Name extends Given ? Tool : never) : never;

/** Settings of tools, by name. */
export type GraphToolsSettings<Tools extends readonly LangChainTool[]> = {
  readonly [Name in Tools[number]["name"]]?: GraphToolSettings<InputOf<ToolNamed<Tools[number], Name>>> | undefined;
};
