import { z } from "zod";

/** What the agent program says of itself, a line of JSON at a time. */
export const Line = z.union([
  z.object({ signedUp: z.string(), added: z.boolean(), count: z.int() }),
  z.object({ waiting: z.literal(true) }),
  z.object({ answer: z.string() }),
]);
export type Line = z.infer<typeof Line>;
