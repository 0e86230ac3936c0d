import { z } from "zod";
import {
  withCode,
  type AnyTool,
  tool,
  toolSettings,
  type ToolCode,
  type ToolEffect,
  type ToolProbeAnswer,
} from "../../agent/tool/Tool.ts";
import { functionSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";

/** Defines how crash recovery and rollbacks treat the calls of a tool. */
export interface HostedToolSettings<in Input = never, in Output = never> {
  /** How a call in doubt is handled. Defaults to `reversible` with `rollback`, and to `irreversible` without. */
  readonly effect?: ToolEffect | undefined;
  /** Undoes a call during a rollback, from its input and its recorded output. By default, calls are not undone. */
  readonly rollback?: ((input: Input, call: HostedRollback<Output>) => unknown) | undefined;
  /**
   * Finds out whether a call in doubt took effect. Not called if the effect is `none` or `idempotent`. The outcome is
   * `unknown` if the probe is missing or throws.
   */
  readonly probe?: ((input: Input, call: HostedProbe) => ToolProbeAnswer | PromiseLike<ToolProbeAnswer>) | undefined;
}

/** A call that a rollback undoes. */
export interface HostedRollback<out Output = unknown> {
  /** The library's id of the call. */
  readonly toolCallId: string;
  /** The output of the call, or `undefined` if no output is recorded. */
  readonly output: Output;
  readonly abortSignal: AbortSignal;
}

/** A call with an unknown outcome. */
export interface HostedProbe {
  /** The library's id of the call, which `execute` received as well. */
  readonly toolCallId: string;
  readonly abortSignal: AbortSignal;
}

/** A tool of another runtime whose calls are recorded. */
export interface HostedTool {
  /** The tool in the definition of the agent. Each call provides the function to run, so `execute` is not used. */
  readonly tool: AnyTool;
  readonly settings: HostedToolSettings;
}

export const hostedToolSettingsSchema: z.ZodType = strictOptions(() => ({
  effect: toolSettings.effect,
  rollback: functionSchema().optional(),
  probe: toolSettings.probe,
}));

/** @param code - omitted if no call can be in doubt. @throws InvalidInputError for a name that models reject */
export function hostedTool(name: string, settings: HostedToolSettings = {}, code?: ToolCode): HostedTool {
  const { effect, probe } = settings;
  const own = tool({
    name,
    description: "",
    // The other runtime validates the input.
    inputSchema: z.unknown(),
    // The other runtime asks for approval. A recorded rejection stays valid even if the policy of the tool changes.
    needsApproval: () => false,
    ...(effect && { effect }),
    ...(probe && { probe: (input, options) => probe(input as never, options) }),
    execute: (): unknown => {
      throw new TypeError(`Tool "${name}" can be called only by its own runtime.`);
    },
  });
  return { tool: code ? withCode(own, code) : own, settings };
}
