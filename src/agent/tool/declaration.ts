import type { AnyTool } from "./Tool.ts";

const declaration: unique symbol = Symbol("declaration");

/** A tool that is not declared with `tool()`. @param code that declares its calls safe to repeat */
export function withDeclaration(tool: AnyTool, code: string): AnyTool {
  return { ...tool, [declaration]: code } as AnyTool;
}

/** The code that declares calls of a tool safe to repeat; `undefined`: that of `tool()`. */
export function declarationOfTool(tool: AnyTool | undefined): string | undefined {
  return (tool as { readonly [declaration]?: string } | undefined)?.[declaration];
}
