import { z } from "zod";
import { withDeclaration } from "../../agent/tool/declaration.ts";
import { type AnyTool, tool, type ToolEffect, type ToolProbeAnswer } from "../../agent/tool/Tool.ts";
import { quoted } from "../../errors/quoted.ts";
import { functionSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** What a crash or a rollback has to know of a tool of another runtime. */
export interface HostedToolSettings<in Input = never, in Output = never> {
  /**
   * What kind of side effect a call has: it decides what happens to a call in doubt. Default: `reversible` with `rollback`,
   * otherwise `irreversible`.
   */
  readonly effect?: ToolEffect | undefined;
  /** Undoes a call: called by a rollback with its input and its recorded output. Absent: the call stays in a rollback. */
  readonly rollback?: ((input: Input, call: HostedRollback<Output>) => unknown) | undefined;
  /**
   * Finds out whether a call in doubt had its effect. Not called if the effect is `none` or `idempotent`. An error counts as
   * `unknown`. Absent: `unknown`.
   */
  readonly probe?: ((input: Input, call: HostedProbe) => ToolProbeAnswer | PromiseLike<ToolProbeAnswer>) | undefined;
}

/** A call that is being undone. */
export interface HostedRollback<out Output = unknown> {
  /** The library's id of the call. */
  readonly toolCallId: string;
  /** What the call returned; `undefined` if no output is recorded. */
  readonly output: Output;
  readonly abortSignal: AbortSignal;
}

/** A call of which the outcome is not known. */
export interface HostedProbe {
  /** The library's id of the call: the same that `execute` got. */
  readonly toolCallId: string;
  readonly abortSignal: AbortSignal;
}

/** A tool of another runtime, as the log knows it. */
export interface HostedTool {
  /** Without an `execute` of its own: each call brings one. */
  readonly tool: AnyTool;
  readonly settings: HostedToolSettings;
}

/** The schema of {@link HostedToolSettings}. */
export const hostedToolSettingsSchema: z.ZodType = strictOptions({
  effect: z.enum(["none", "idempotent", "reversible", "irreversible"]).optional(),
  rollback: functionSchema().optional(),
  probe: functionSchema().optional(),
});

/** @throws InvalidInputError for a name that no model would accept. */
export function hostedTool(name: string, settings: HostedToolSettings = {}): HostedTool {
  const { effect, probe } = settings;
  const own = tool({
    name,
    description: "",
    // The other runtime has checked the input.
    inputSchema: z.unknown(),
    ...(effect && { effect }),
    ...(probe && { probe: (input, options) => probe(input as never, options) }),
    execute: (): unknown => {
      throw new TypeError(`Tool "${name}" is called by the runtime that it belongs to.`);
    },
  });
  const code = `{ ${quoted(name)}: { effect: "idempotent" } } in the settings of the tools`;
  return { tool: withDeclaration(own, code), settings };
}
