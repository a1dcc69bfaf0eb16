"""What SAC, TD3 and DQN share: replay buffers, and turns of steps and updates in one compiled program."""
