import type { ToolEffect, ToolProbeAnswer } from "../../agent/tool/Tool.ts";
import type { HostedProbe, HostedRollback } from "../hosted/HostedTool.ts";

/** Tools of the AI SDK, by name. */
export type AiSdkTools = Readonly<Record<string, object>>;

/** The `execute` function of a tool, or `never` if the client or the provider executes it. */
type ExecuteOf<Tool> = Tool extends { readonly execute?: infer Execute } ? NonNullable<Execute> : never;

type InputOf<Tool> = [ExecuteOf<Tool>] extends [(input: infer Input, options: never) => unknown] ? Input : unknown;

/** The final output of a tool. */
type OutputOf<Tool> = [ExecuteOf<Tool>] extends [(input: never, options: never) => infer Output]
  ? Settled<Output>
  : unknown;

type Settled<Output> =
  Extract<Output, AsyncIterable<unknown>> extends AsyncIterable<infer Item>
    ? [Extract<Output, AsyncIterable<unknown>>] extends [never]
      ? Awaited<Output>
      : Awaited<Exclude<Output, AsyncIterable<unknown>>> | Item
    : Awaited<Output>;

/** Tells crash recovery and rollbacks how to treat the calls of an AI SDK tool. */
export interface AiSdkToolSettings<in Input = never, in Output = never> {
  /**
   * The side effect of a call. Interrupted calls with the effect `none` or `idempotent` are repeated. For other calls
   * the outcome has to be determined. Defaults to `reversible` if `rollback` is given, otherwise `irreversible`.
   */
  readonly effect?: ToolEffect | undefined;
  /**
   * Undoes a call during a rollback. Receives the input and, in `call`, the output. An error stops the rollback, which
   * can be continued later. Without this function, a rollback reports the call as not undone.
   */
  readonly rollback?: ((input: Input, call: HostedRollback<Output>) => unknown) | undefined;
  /**
   * Determines whether an interrupted call took effect. Not called if the effect is `none` or `idempotent`. An error
   * counts as `unknown`, and so does a missing probe.
   */
  readonly probe?: ((input: Input, call: HostedProbe) => ToolProbeAnswer | PromiseLike<ToolProbeAnswer>) | undefined;
}

/** Settings of tools, by name. */
export type AiSdkToolsSettings<Tools> = {
  readonly [Name in keyof Tools]?: AiSdkToolSettings<InputOf<Tools[Name]>, OutputOf<Tools[Name]>> | undefined;
};
