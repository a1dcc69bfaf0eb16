// A game that connects to Evolute over a local socket, in JavaScript, with Node's own modules alone.
// The messages are in docs/how-to/connect.md.
//
//     evolute check-game 'node examples/socket_game/mountain.js'
//
// A car in a valley must swing to get out. It waits for its driver, so the same seed and actions give the same episode.
// Observations travel as raw arrays.
"use strict";
const net = require("net");

const HELLO = {
  kind: "hello", version: 1, repeatable: true,
  seats: ["driver"],
  observation_space: { kind: "box", shape: [2], low: -2, high: 2 },
  action_space: { kind: "discrete", n: 3 },
};
const LIMIT = 200;

/** A message: two lengths, a header of JSON, and a body of raw numbers. */
function packed(message, body = Buffer.alloc(0)) {
  const header = Buffer.from(JSON.stringify(message));
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32LE(header.length, 0);
  lengths.writeUInt32LE(body.length, 4);
  return Buffer.concat([lengths, header, body]);
}

/** Random numbers that follow from a seed (mulberry32). */
function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** One connection, and the game that is played over it. */
function connect() {
  const [host, port] = process.env.EVOLUTE_ADDRESS.split(":");
  const line = net.connect(Number(port), host);
  let read = Buffer.alloc(0), car = null;

  const ask = () => {
    const seen = Buffer.from(Float32Array.of(car.position, car.speed).buffer);
    line.write(packed({ kind: "ask", seat: "driver", obs: { dtype: "f4", shape: [2] } }, seen));
  };
  const act = (action) => {
    car.speed += 0.001 * (action - 1) - 0.0025 * Math.cos(3 * car.position);
    car.speed = Math.min(0.07, Math.max(-0.07, car.speed));
    car.position = Math.min(0.6, Math.max(-1.2, car.position + car.speed));
    if (car.position <= -1.2) car.speed = Math.max(0, car.speed);
    car.time += 1;
    line.write(packed({ kind: "reward", seat: "driver", amounts: { reward: -1 } }));
    const out = car.position >= 0.5;
    if (!out && car.time < LIMIT) return ask();
    if (!out) line.write(packed({ kind: "end", seat: "driver", obs: [car.position, car.speed] }));
    line.write(packed({ kind: "over", results: { out: Number(out) } }));
    car = null;
  };
  const take = (message) => {
    if (message.kind === "refused") throw new Error(message.why);
    if (message.kind === "play") {
      car = { position: -0.6 + 0.2 * random(message.seed)(), speed: 0, time: 0 };
      ask();
    }
    if (message.kind === "act" && car !== null) act(message.action);
  };

  line.setNoDelay();
  line.on("connect", () => line.write(packed({ ...HELLO, token: process.env.EVOLUTE_TOKEN })));
  line.on("data", (chunk) => {
    read = Buffer.concat([read, chunk]);
    while (read.length >= 8 && read.length >= 8 + read.readUInt32LE(0) + read.readUInt32LE(4)) {
      const header = read.readUInt32LE(0), end = 8 + header + read.readUInt32LE(4);
      const message = JSON.parse(read.subarray(8, 8 + header).toString());
      read = read.subarray(end);
      take(message);
    }
  });
  line.on("error", () => {});            // nobody listens any more: the program ends when all lines are closed
  line.on("close", (broken) => { if (!broken) connect(); });
}

for (let game = 0; game < Number(process.env.EVOLUTE_GAMES || 1); game++) connect();
