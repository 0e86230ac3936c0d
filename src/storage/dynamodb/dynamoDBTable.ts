import { checkSchema } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** What to call the table. */
export interface DynamoDBTableOptions {
  readonly tableName: string;
}

/** What `createTable` of the SDK is given. */
export interface DynamoDBTableDefinition {
  TableName: string;
  AttributeDefinitions: { AttributeName: string; AttributeType: "S" | "B" }[];
  KeySchema: { AttributeName: string; KeyType: "HASH" | "RANGE" }[];
  BillingMode: "PAY_PER_REQUEST";
}

const optionsSchema = strictOptions({ tableName: nonEmptyString });

/**
 * The table that the storage needs, for `createTable` or for your infrastructure code: a partition key `pk` of text, a sort
 * key `sk` of bytes, and no index. Add to it what you need, such as tags or encryption.
 *
 * @throws InvalidInputError when an option is unknown or has a wrong value.
 */
export function dynamoDBTable(options: DynamoDBTableOptions): DynamoDBTableDefinition {
  checkSchema(optionsSchema, options, "options of the DynamoDB table");
  return {
    TableName: options.tableName,
    AttributeDefinitions: [
      { AttributeName: "pk", AttributeType: "S" },
      { AttributeName: "sk", AttributeType: "B" },
    ],
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
    BillingMode: "PAY_PER_REQUEST",
  };
}
