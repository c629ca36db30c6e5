/** Generates malformed HTTP/1.1 and HTTP/2. */

import { createRandom } from "../random.ts";
import { encodeRequest } from "./fuzz-clients.ts";
import { type Ingredients, restRequest } from "./fuzz-requests.ts";
import { mangleBytes } from "./fuzz-values.ts";

export function nearlyHttp1(seed: number, number: number, ingredients: Ingredients): Buffer {
  const random = createRandom(seed * 15_485_863 + number);
  // A mutation must not produce the deletion of a needed resource.
  const { verb, ...rest } = restRequest(seed + 1, number, ingredients);
  const bytes = encodeRequest({ verb: verb === "DELETE" ? "GET" : verb, ...rest });
  const head = bytes.indexOf("\r\n") + 2;
  const insert = (text: string) => Buffer.concat([bytes.subarray(0, head), Buffer.from(text, "latin1"), bytes.subarray(head)]);
  switch (random.below(14)) {
    case 0:
      return insert("content-length: 5\r\ncontent-length: 6\r\n");
    case 1:
      return insert("transfer-encoding: chunked\r\n");
    case 2:
      return insert("transfer-encoding: chunked, identity\r\n");
    case 3:
      return insert(`x-long: ${"y".repeat(random.pick([8_000, 31_000, 40_000]))}\r\n`);
    case 4:
      return insert("x: y\r\n".repeat(random.pick([50, 127, 200, 3000])));
    case 5:
      return insert(
        random.pick([
          "bad name: x\r\n",
          ": x\r\n",
          "x\r\n",
          " folded\r\n",
          "x:\0\r\n",
          "host: other\r\n",
          "connection: upgrade\r\nupgrade: websocket\r\n",
          "upgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\nconnection: upgrade, http2-settings\r\n",
        ]),
      );
    case 6:
      return Buffer.concat([
        Buffer.from(`${random.pick(["get", "CONNECT", "GE T", "POST\t", "PRI"])} `),
        bytes.subarray(bytes.indexOf(" ") + 1),
      ]);
    case 7:
      return Buffer.from(
        bytes.toString("latin1").replace("HTTP/1.1", random.pick(["HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.1 ", "http/1.1", ""])),
        "latin1",
      );
    case 8:
      return Buffer.from(bytes.toString("latin1").replaceAll("\r\n", "\n"), "latin1");
    case 9: {
      const target = `/${random.pick(["\xff\xfe", "\0", "a b", "\x7f", "z".repeat(17_000), "z".repeat(40_000), "%".repeat(100)])}`;
      return Buffer.from(`GET ${target} HTTP/1.1\r\nhost: h\r\n\r\n`, "latin1");
    }
    case 10: {
      const chunk = random.pick([
        "5\r\nhello\r\n0\r\n\r\n",
        "ffffffffffffffff\r\nx",
        "-1\r\n\r\n",
        '5;x="y\r\nhello\r\n0\r\n\r\n',
        "5\r\nhelloX",
        "0\r\nTrailer: x\r\n\r\n",
      ]);
      return Buffer.from(`POST /iam/v2/groups HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n${chunk}`, "latin1");
    }
    case 11:
      return Buffer.from(Array.from({ length: random.below(300) }, () => random.below(256)));
    default:
      return mangleBytes(bytes, random);
  }
}

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** A connection with one call whose frames and headers are mutated. */
export function nearlyHttp2(seed: number, number: number): Buffer {
  const random = createRandom(seed * 32_452_843 + number);
  const path = random.pick([
    "/platform.iam.v2.GroupsService/ListGroups",
    "/platform.ping.v2.PingService/Ping",
    "/iam/v2/groups",
    "/healthz",
  ]);
  const block = headerBlock({
    ":method": random.pick(["POST", "GET", "CONNECT", ""]),
    ":scheme": random.pick(["http", "ftp", ""]),
    ":path": random.pick([path, "", "*", `${path}\0`]),
    ":authority": random.pick(["h", "", "[", "user@h:99999"]),
    "content-type": random.pick(["application/grpc", "application/grpc-web", "text/plain"]),
    [random.pick(["te", "connection", "Upper", "transfer-encoding", "x"])]: random.pick(["trailers", "close", "\n"]),
  });
  const frames = [
    frame(4, 0, 0, Buffer.alloc(random.pick([0, 6, 5]))),
    frame(1, random.pick([4, 5, 0, 0x24, 0x0c]), random.pick([1, 1, 1, 0, 2, 3]), block),
    frame(0, random.pick([1, 0, 9]), random.pick([1, 1, 0, 5]), Buffer.alloc(random.pick([0, 5, 10]))),
    frame(random.below(12), random.below(256), random.below(4), Buffer.alloc(random.below(20), random.below(256))),
  ];
  if (random.oneIn(3)) frames.splice(random.below(frames.length), 1);
  if (random.oneIn(4))
    frames.push(
      ...Array.from({ length: 200 }, () => frame(random.pick([2, 3, 6, 8, 9, 0]), 0, 1, Buffer.alloc(random.pick([4, 5, 8, 0])))),
    );
  const bytes = Buffer.concat(frames);
  return Buffer.concat([
    random.oneIn(20) ? PREFACE.subarray(0, random.below(PREFACE.length)) : PREFACE,
    random.oneIn(2) ? mangleBytes(bytes, random) : bytes,
  ]);
}

/** RFC 9113 §4.1. */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Literal fields without indexing and without Huffman (RFC 7541 §6.2.2). */
function headerBlock(headers: Record<string, string>): Buffer {
  return Buffer.concat(
    Object.entries(headers).map(([name, value]) =>
      Buffer.concat([
        Buffer.from([0, name.length]),
        Buffer.from(name, "latin1"),
        Buffer.from([value.length]),
        Buffer.from(value, "latin1"),
      ]),
    ),
  );
}
