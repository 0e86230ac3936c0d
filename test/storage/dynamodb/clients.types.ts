// Compiled, never run: the client is taken as its package has it.
import { DynamoDB, DynamoDBClient as BareClient } from "@aws-sdk/client-dynamodb";
import { S3 } from "@aws-sdk/client-s3";
import { dynamoDBTable, type DynamoDBClient, DynamoDBPersistenceStorageProvider } from "agent-persistence/dynamodb";
import { S3BlobStore } from "agent-persistence/s3";

const client: DynamoDBClient = new DynamoDB();
const blobs = new S3BlobStore({ client: new S3(), bucket: "agents" });
new DynamoDBPersistenceStorageProvider({ client, tableName: "agents" });
new DynamoDBPersistenceStorageProvider({
  client: new DynamoDB(),
  tableName: "agents",
  blobs,
  expireDroppedAfterDays: 7,
});
void new DynamoDB().createTable(dynamoDBTable({ tableName: "agents" }));
void new DynamoDB().createTable({
  ...dynamoDBTable({ tableName: "agents" }),
  Tags: [{ Key: "team", Value: "agents" }],
});
// @ts-expect-error the bare client has no methods for requests
new DynamoDBPersistenceStorageProvider({ client: new BareClient(), tableName: "agents" });
// @ts-expect-error which table is the user's choice
new DynamoDBPersistenceStorageProvider({ client });
