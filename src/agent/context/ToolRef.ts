/** Phantom key of tools; it exists for the compiler alone. */
export declare const argumentsOf: unique symbol;

/** How a context names a tool: every `Tool` is one. */
export interface ToolRef<in Arguments = never, out Output = unknown> {
  /** Unique among the tools of an agent. */
  readonly name: string;
  readonly execute: (input: never, options: never) => Output | PromiseLike<Output>;
  readonly [argumentsOf]: (input: Arguments) => void;
}
