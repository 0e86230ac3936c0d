/** Hints of an MCP server about a tool. The server does not guarantee them. */
export interface McpToolAnnotations {
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
}

/** A tool as an MCP server lists it. */
export interface McpTool {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema. */
  readonly inputSchema: { readonly [key: string]: unknown };
  readonly annotations?: McpToolAnnotations | undefined;
}

/** The result of a tool call, as the protocol defines it. */
export interface McpToolResult {
  readonly content?: readonly { readonly type: string }[] | undefined;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
}

/** A connected client: `Client` of `@modelcontextprotocol/client` 2, or of `@modelcontextprotocol/sdk` 1. */
export interface McpClient {
  listTools(params?: { cursor?: string }): Promise<{
    readonly tools: readonly McpTool[];
    readonly nextCursor?: string | undefined;
  }>;
  /** Version 2 expects the options as the second parameter. Version 1 expects a result schema and then the options. */
  callTool(
    params: { name: string; arguments?: Record<string, unknown>; _meta?: Record<string, unknown> },
    ...rest: never[]
  ): Promise<object>;
}
