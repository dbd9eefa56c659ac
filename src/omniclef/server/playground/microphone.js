// Runs beside the page: hands on what the microphone hears, a tenth of a second at a time.
class Microphone extends AudioWorkletProcessor {
  constructor() {
    super();
    this.block = new Float32Array(Math.round(sampleRate / 10));
    this.filled = 0;
  }

  process([[heard]]) {
    for (const sample of heard ?? []) {
      this.block[this.filled] = sample;
      this.filled += 1;
      if (this.filled === this.block.length) {
        this.port.postMessage(this.block.slice());
        this.filled = 0;
      }
    }
    return true;
  }
}
registerProcessor("microphone", Microphone);
