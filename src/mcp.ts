export {
  mcpTools,
  type McpToolInput,
  type McpToolSettings,
  type McpToolsOptions,
} from "./integrations/mcp/mcpTools.ts";
export type { McpClient, McpTool, McpToolAnnotations, McpToolResult } from "./integrations/mcp/mcpTools.ts";
