import type { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { AgentRequest } from "../../index.ts";
import type { StoredAgents } from "../session/storedAgents.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { answering } from "./answering.ts";

const answerSchema = z.object({
  requestId: z.string(),
  answer: z.unknown().optional().describe("The answer to a request for input, as its JSON Schema describes."),
  approved: z.boolean().optional().describe("Approves or rejects a tool call."),
  reason: z.string().optional().describe("Why a request is rejected. Rejects a request for input."),
});

/** Adds the tools that change data. */
export function changingTools(server: McpServer, { feature }: StoredAgents): void {
  const by = () => `mcp:${server.server.getClientVersion()?.name ?? "unknown"}`;
  server.registerTool(
    "answer_request",
    {
      description: "Answers or rejects an open request of an agent. Approve a tool call only if a person told you to.",
      inputSchema: answerSchema,
      annotations: { destructiveHint: true, openWorldHint: false },
    },
    answering(async (given: z.output<typeof answerSchema>) => {
      const request = await openRequest(feature.listRequests(), given.requestId);
      const { requestId, agentId } = request;
      const reply = replyOf(given);
      if ("rejected" in reply) await feature.reject(requestId, reply.rejected, { by: by() });
      else
        await feature.answer(requestId, reply.answer, {
          by: by(),
          ...("digest" in request && { digest: request.digest }),
        });
      return { agentId, requestId, ...reply };
    }),
  );
  server.registerTool(
    "fork_agent",
    {
      description: "Creates an independent copy of an agent under another id.",
      inputSchema: z.object({
        agentId: z.string(),
        newAgentId: z.string(),
        checkpointId: z.string().optional().describe("The last checkpoint of the copy. Defaults to the newest."),
      }),
      annotations: { destructiveHint: false, openWorldHint: false },
    },
    answering(async ({ agentId, newAgentId, checkpointId }) => {
      await feature.agent(agentId).fork(newAgentId, { checkpointId });
      return { agentId: newAgentId, forkOf: agentId };
    }),
  );
}

async function openRequest(requests: AsyncIterable<AgentRequest>, requestId: string): Promise<AgentRequest> {
  for await (const request of requests) if (request.requestId === requestId) return request;
  throw new CommandFailure("notFound", `There is no open request "${requestId}".`);
}

type Reply = { readonly answer: unknown } | { readonly rejected: string };

function replyOf(given: z.output<typeof answerSchema>): Reply {
  const { answer, approved, reason } = given;
  const rejection = reason ?? (approved === false ? "No reason was given." : undefined);
  const replies: Reply[] = [
    ...("answer" in given ? [{ answer }] : []),
    ...(approved === true ? [{ answer: { approved } }] : []),
    ...(rejection === undefined ? [] : [{ rejected: rejection }]),
  ];
  const [reply, ...others] = replies;
  if (reply !== undefined && others.length === 0) return reply;
  throw new CommandFailure("usage", "Pass exactly one of answer, approved and reason.");
}
