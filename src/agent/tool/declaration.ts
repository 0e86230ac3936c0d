import type { AnyTool } from "./Tool.ts";

const declaration: unique symbol = Symbol("declaration");

/** Returns a tool declared by code other than `tool()`. @param code The code that declares calls safe to repeat. */
export function withDeclaration(tool: AnyTool, code: string): AnyTool {
  return { ...tool, [declaration]: code } as AnyTool;
}

/** Returns the code that declares calls of a tool safe to repeat, or `undefined` for `tool()`. */
export function declarationOfTool(tool: AnyTool | undefined): string | undefined {
  return (tool as { readonly [declaration]?: string } | undefined)?.[declaration];
}
