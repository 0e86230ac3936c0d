import type { InferInteropZodOutput, InteropZodType } from "@langchain/core/utils/types";
import type { DynamicTool, StructuredToolInterface } from "@langchain/core/tools";
import { z } from "zod";
import type { ToolEffect, ToolProbeAnswer } from "../../../agent/tool/Tool.ts";
import { functionSchema } from "../../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../../internal/options/strictOptions.ts";
import type { HostedProbe } from "../../hosted/HostedTool.ts";

/** A tool of LangChain. */
export type LangChainTool = StructuredToolInterface | DynamicTool;

/** What a crash has to know of a tool of LangChain. */
export interface GraphToolSettings<in Input = never> {
  /**
   * What kind of side effect a call has: `none` and `idempotent` are made again after a crash in the middle of a call; of any
   * other call the outcome has to be found out. Default: `irreversible`.
   */
  readonly effect?: ToolEffect | undefined;
  /**
   * Finds out whether a call had its effect whose end was not recorded. Gets what the schema made of the input. Not called if
   * the effect is `none` or `idempotent`. An error counts as `unknown`. Absent: `unknown`.
   */
  readonly probe?: ((input: Input, call: HostedProbe) => ToolProbeAnswer | PromiseLike<ToolProbeAnswer>) | undefined;
}

/** What a tool takes. */
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

/** The schema of {@link GraphToolSettings}. */
export const graphToolSettingsSchema: z.ZodType = strictOptions({
  effect: z.enum(["none", "idempotent", "reversible", "irreversible"]).optional(),
  probe: functionSchema().optional(),
});
