import type { ToolEffect, ToolProbeAnswer } from "../../agent/tool/Tool.ts";
import type { HostedProbe, HostedRollback } from "../hosted/HostedTool.ts";

/** Tools of the AI SDK, by name. */
export type AiSdkTools = Readonly<Record<string, object>>;

/** What runs a tool; `never` if a client or the provider does. */
type ExecuteOf<Tool> = Tool extends { readonly execute?: infer Execute } ? NonNullable<Execute> : never;

/** What a tool takes. */
type InputOf<Tool> = [ExecuteOf<Tool>] extends [(input: infer Input, options: never) => unknown] ? Input : unknown;

/** What a tool returns in the end. */
type OutputOf<Tool> = [ExecuteOf<Tool>] extends [(input: never, options: never) => infer Output]
  ? Settled<Output>
  : unknown;

type Settled<Output> =
  Extract<Output, AsyncIterable<unknown>> extends AsyncIterable<infer Item>
    ? [Extract<Output, AsyncIterable<unknown>>] extends [never]
      ? Awaited<Output>
      : Awaited<Exclude<Output, AsyncIterable<unknown>>> | Item
    : Awaited<Output>;

/** What a crash or a rollback has to know of a tool of the AI SDK. */
export interface AiSdkToolSettings<in Input = never, in Output = never> {
  /**
   * What kind of side effect a call has: `none` and `idempotent` are made again after a crash in the middle of a call; of any
   * other call the outcome has to be found out. Default: `reversible` with `rollback`, otherwise `irreversible`.
   */
  readonly effect?: ToolEffect | undefined;
  /**
   * Undoes a call, in a rollback: gets the input and, in `call`, what was returned. An error stops the rollback, which can be
   * continued. Absent: a rollback reports the call as one that it could not undo.
   */
  readonly rollback?: ((input: Input, call: HostedRollback<Output>) => unknown) | undefined;
  /**
   * Finds out whether a call had its effect whose end was not recorded. Not called if the effect is `none` or `idempotent`.
   * An error counts as `unknown`. Absent: `unknown`.
   */
  readonly probe?: ((input: Input, call: HostedProbe) => ToolProbeAnswer | PromiseLike<ToolProbeAnswer>) | undefined;
}

/** Settings of tools, by name. */
export type AiSdkToolsSettings<Tools> = {
  readonly [Name in keyof Tools]?: AiSdkToolSettings<InputOf<Tools[Name]>, OutputOf<Tools[Name]>> | undefined;
};
