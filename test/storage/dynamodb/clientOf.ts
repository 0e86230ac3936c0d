import { DynamoDB } from "@aws-sdk/client-dynamodb";

/** A client of the DynamoDB at an address, which asks once. */
export function clientOf(endpoint: string): DynamoDB {
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  return new DynamoDB({ endpoint, region: "us-east-1", credentials, maxAttempts: 1 });
}
