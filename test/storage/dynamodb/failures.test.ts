import { expect, it } from "vitest";
import { FakeDynamoDB } from "./FakeDynamoDB.ts";
import { processOn } from "./processOn.ts";

it.each([
  ["ResourceNotFoundException", "io", "Create the table from dynamoDBTable()"],
  ["AccessDeniedException", "permission", "BatchWriteItem"],
  ["UnrecognizedClientException", "permission", "Give this process access"],
])("the error %s of the service has the reason %s and names the fix", async (name, reason, advice) => {
  const { client, log } = processOn(new FakeDynamoDB());
  client.onRequest = () => {
    throw Object.assign(new Error("refused"), { name });
  };
  const failed = log.owner("a");
  await expect(failed).rejects.toMatchObject({ code: "storage_failed", reason });
  await expect(failed).rejects.toThrow(advice);
});
